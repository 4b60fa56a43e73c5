#include "server/admission/random_token.h"

#include <sys/random.h>

#include <array>

#include "absl/strings/escaping.h"

namespace castscope::admission {

absl::StatusOr<std::string> new_token() {
  constexpr std::size_t kBits = 128;
  std::array<char, kBits / 8> bits{};
  if (getrandom(bits.data(), bits.size(), 0) != static_cast<ssize_t>(bits.size()))
    return absl::UnavailableError("the system gives no random numbers for a token");
  std::string token = absl::WebSafeBase64Escape(absl::string_view(bits.data(), bits.size()));
  while (!token.empty() && token.back() == '=') token.pop_back();
  return token;
}

}  // namespace castscope::admission
