// What is kept of a secret: its SHA-256, in hexadecimal. Secrets are random, so that nobody finds one by its digest.
#pragma once

#include <string>
#include <string_view>

namespace castscope::admission {

// Returns "" for "".
std::string digest_of(std::string_view secret);

}  // namespace castscope::admission
