// Who is answered: only requests that name this machine and carry the token. Whatever a page elsewhere makes a browser
// send (other sites, names that were rebound to 127.0.0.1) is turned away here.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/web/http/http_server.h"

namespace castscope::web {

// 128 random bits in base64url; a failure of the system's randomness is an error.
absl::StatusOr<std::string> new_token();
// The token that `file` holds, so that an address outlives the one who serves it. A file that is not there, or that
// somebody else could have written or read, is made anew with a new token.
absl::StatusOr<std::string> kept_token(const std::string& file);

// "localhost", "127.0.0.1", "[::1]", with or without a port: a tunnel ends on another one.
bool is_loopback_host(std::string_view host);

// What follows "/t/TOKEN/" in a path, when it is this token; takes as long for any token of the same length.
std::optional<std::string> behind_token(std::string_view path, std::string_view token);

// On every answer: nothing is loaded from elsewhere, put into frames, kept in caches, told to others.
void add_security_headers(Response& response);

// Everything above around `answer`, which gets requests with what stands behind the token as their path.
Handler guarded(std::string token, Handler answer);

}  // namespace castscope::web
