// Where the viewer is reached: a socket that only this machine can. What it shows holds source code, and the token in
// its address travels in the clear.
#pragma once

#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace castscope::web {

class Listener {
 public:
  // "127.0.0.1:0" (port 0 = any free one), "[::1]:7391", "localhost:7391", ":7391", "7391". An address that others can
  // reach is refused, with the way to look from elsewhere all the same. The socket is not inherited by what is started.
  static absl::StatusOr<Listener> bind(const std::string& address);
  Listener(Listener&& other) noexcept { *this = std::move(other); }
  Listener& operator=(Listener&& other) noexcept {
    std::swap(socket_, other.socket_);
    std::swap(address_, other.address_);
    std::swap(port_, other.port_);
    return *this;
  }
  ~Listener();

  // "127.0.0.1:40123": with the real port, as it stands in a URL.
  const std::string& address() const { return address_; }
  int port() const { return port_; }
  // The next connection's socket, -1 when there is none: `again` tells whether to ask once more. Waits.
  int accept(bool* again) const;
  // From another thread: accept() gives up, now and for ever.
  void close_to_all() const;

 private:
  Listener() = default;
  int socket_ = -1;
  std::string address_;
  int port_ = 0;
};

}  // namespace castscope::web
