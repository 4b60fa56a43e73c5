// Reads definition records strictly: each must have exactly the right length, and only numbers of the closed lists.
#pragma once

#include <cstring>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace castscope::ingest {

// Makes the error for a relay that has sent invalid data: `what` describes the data.
inline absl::Status invalid(const std::string& what) { return absl::InvalidArgumentError(what); }

// Reads the fixed part of a record's payload. A longer payload is an error too: its rest would not be understood.
template <typename T>
absl::Status read(std::string_view payload, const char* name, T* out) {
  if (payload.size() != sizeof(T))
    return invalid(absl::StrCat("a definition (", name, ") of ", payload.size(), " bytes, not ", sizeof(T)));
  std::memcpy(out, payload.data(), sizeof(T));
  return absl::OkStatus();
}

}  // namespace castscope::ingest
