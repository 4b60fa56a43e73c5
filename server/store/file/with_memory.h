// Makes an error of it when there is no memory for a write to the run file, so that it is met like a full disk.
#pragma once

#include <new>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace castscope::store {

template <typename Act>
absl::Status with_memory(const std::string& path, Act act) {
  try {
    return act();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat(path, ": there is not enough memory to write this file now"));
  }
}

}  // namespace castscope::store
