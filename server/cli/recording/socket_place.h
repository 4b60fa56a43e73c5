// Whether a token may be sent to a collector's Unix socket: only where nobody can put a socket of theirs in its place
// while the collector is away, whom the folder's owner does not trust.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace castscope::cli {

// OK where only the owner of the socket's folder, root and this user can make a socket of this path: a folder that
// others can write to is on the way only with a name that they cannot take, in a sticky one. It does not matter who
// listens now, and what is not there yet may come later.
absl::Status check_place_of_socket(const std::string& path);

}  // namespace castscope::cli
