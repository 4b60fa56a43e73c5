// Makes tokens.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace castscope::admission {

// Makes a token of 128 random bits in base64url. Returns an error if the system's source of randomness fails.
absl::StatusOr<std::string> new_token();

}  // namespace castscope::admission
