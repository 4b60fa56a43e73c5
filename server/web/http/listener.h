// The socket of an HTTP server, which only this machine can reach: what is said there travels unencrypted.
#pragma once

#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace castscope::web {

// Whose socket it is, for the sentence that refuses an address which others can reach.
struct Whose {
  const char* name;     // "the viewer"
  const char* why_not;  // "it shows source code"
};
inline constexpr Whose kViewer{"the viewer", "it shows source code, and its token travels unencrypted"};
inline constexpr Whose kMetrics{"the page of metrics", "it asks nobody for a token"};

// Whether Listener::bind() would take this address, as far as that can be told without listening: the address with host
// and port, or the sentence that refuses it.
absl::StatusOr<std::string> check_address(const std::string& address, const Whose& whose);

class Listener {
 public:
  // `address` is "127.0.0.1:0" (port 0 = any free one), "[::1]:7391", "localhost:7391", ":7391" or "7391". An address
  // that others can reach is refused, and the error explains how to look from elsewhere. Child processes do not inherit
  // the socket.
  static absl::StatusOr<Listener> bind(const std::string& address, const Whose& whose = kViewer);
  Listener(Listener&& other) noexcept { *this = std::move(other); }
  Listener& operator=(Listener&& other) noexcept {
    std::swap(socket_, other.socket_);
    std::swap(address_, other.address_);
    std::swap(port_, other.port_);
    return *this;
  }
  ~Listener();

  // "127.0.0.1:40123": the address with the real port, as it stands in a URL.
  const std::string& address() const { return address_; }
  int port() const { return port_; }
  // Waits for the next connection and returns its socket, or -1 if there is none; `again` says whether to call once
  // more.
  int accept(bool* again) const;
  // Called by another thread: makes accept() give up, now and for ever.
  void close_to_all() const;

 private:
  Listener() = default;
  int socket_ = -1;
  std::string address_;
  int port_ = 0;
};

}  // namespace castscope::web
