// Decides which requests are answered: only those that name this machine and carry the token. Requests that a page
// elsewhere makes a browser send (from other sites, or to names that were rebound to 127.0.0.1) are refused here.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/web/http/message.h"

namespace castscope::web {

// Returns the token that `file` holds, so that an address stays valid after a restart of the server. If the file is
// missing, or if somebody else could have written or read it, it is written anew with a new token.
absl::StatusOr<std::string> kept_token(const std::string& file);

// Accepts "localhost", "127.0.0.1" and "[::1]" with any port or none: the local end of a tunnel has another port.
bool is_loopback_host(std::string_view host);

// A path "/t/TOKEN/rest" in its parts; `rest` is "/rest", or "" without the slash.
struct Behind {
  std::string token, rest;
};
std::optional<Behind> behind_token(std::string_view path);

// The token of a header "Authorization: Bearer TOKEN"; "" = there is none.
std::string bearer(std::string_view authorization);

// Whether a token lets in. Called by many threads at once.
using Admits = std::function<bool(const std::string& token)>;

// Puts all of the checks above in front of `answer`, which gets requests with the part after the token as their path,
// or with their whole path where the token is in the header. Whoever gives a wrong token is answered slowly.
Handler guarded(Admits admits, Handler answer);

}  // namespace castscope::web
