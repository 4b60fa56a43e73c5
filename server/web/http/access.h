// Decides which requests are answered: only those that name this machine and carry the token. Requests that a page
// elsewhere makes a browser send (from other sites, or to names that were rebound to 127.0.0.1) are refused here.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/web/http/message.h"

namespace castscope::web {

// Makes a token of 128 random bits in base64url. Returns an error if the system's source of randomness fails.
absl::StatusOr<std::string> new_token();
// Returns the token that `file` holds, so that an address stays valid after a restart of the server. If the file is
// missing, or if somebody else could have written or read it, it is written anew with a new token.
absl::StatusOr<std::string> kept_token(const std::string& file);

// Accepts "localhost", "127.0.0.1" and "[::1]" with any port or none: the local end of a tunnel has another port.
bool is_loopback_host(std::string_view host);

// Returns the rest of a path after "/t/TOKEN/" if it has this token. Takes the same time for any token of the same
// length.
std::optional<std::string> behind_token(std::string_view path, std::string_view token);

// Whether the header "Authorization: Bearer TOKEN" has this token. Takes the same time for any token of the same
// length.
bool is_bearer(std::string_view authorization, std::string_view token);

// Puts all of the checks above in front of `answer`, which gets requests with the part after the token as their path,
// or with their whole path where the token is in the header.
Handler guarded(std::string token, Handler answer);

}  // namespace castscope::web
