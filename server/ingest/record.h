// How definition records are read: exactly as long as they should be, every number of a closed list on it.
#pragma once

#include <cstring>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace castscope::ingest {

inline absl::Status nonsense(const std::string& what) { return absl::InvalidArgumentError(what); }

// The fixed part of a record's payload. A longer payload is an error too: what is not read is not understood.
template <typename T>
absl::Status read(std::string_view payload, const char* name, T* out) {
  if (payload.size() != sizeof(T))
    return nonsense(absl::StrCat("a ", name, " definition of ", payload.size(), " bytes, not ", sizeof(T)));
  std::memcpy(out, payload.data(), sizeof(T));
  return absl::OkStatus();
}

}  // namespace castscope::ingest
