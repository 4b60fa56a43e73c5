// How the address of a collector is told from "HOST:PORT" where it names a Unix socket.
#pragma once

#include <string_view>

namespace castscope::wire {

// "unix:PATH", or "unix-abstract:NAME".
inline bool is_unix(std::string_view address) {
  return address.starts_with("unix:") || address.starts_with("unix-abstract:");
}

}  // namespace castscope::wire
