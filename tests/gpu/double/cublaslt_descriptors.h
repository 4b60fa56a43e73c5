// The descriptors of cuBLASLt's double: attributes by number, as they were set.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "cublas_headers.h"

namespace nogpu {

class Attributes {
 public:
  void set(int attribute, const void* value, size_t size) {
    const auto* bytes = static_cast<const uint8_t*>(value);
    values_[attribute].assign(bytes, bytes + size);
  }

  template <typename Value>
  void set(int attribute, const Value& value) {
    set(attribute, &value, sizeof value);
  }

  cublasStatus_t get(int attribute, void* room, size_t size, size_t* written) const {
    auto found = values_.find(attribute);
    if (found == values_.end()) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (written != nullptr) *written = found->second.size();
    if (size == 0) return written == nullptr ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
    if (size < found->second.size() || room == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(room, found->second.data(), found->second.size());
    return CUBLAS_STATUS_SUCCESS;
  }

  template <typename Value>
  Value value(int attribute) const {
    Value result{};
    auto found = values_.find(attribute);
    if (found != values_.end())
      std::memcpy(&result, found->second.data(), std::min(sizeof result, found->second.size()));
    return result;
  }

 private:
  std::map<int, std::vector<uint8_t>> values_;
};

}  // namespace nogpu
