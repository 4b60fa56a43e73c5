#include "server/web/http/listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace castscope::web {
namespace {

struct Place {
  std::string host;  // without brackets
  int port = 0;
};

// An address as somebody gave it, and for whom.
struct Wish {
  const std::string& address;
  const Whose& whose;
};

absl::Status cannot(const Wish& wish, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat(wish.whose.name, " cannot listen on ", wish.address, ": ", why));
}

absl::StatusOr<Place> split_address(const Wish& wish) {
  const std::string& address = wish.address;
  Place place{.host = "127.0.0.1", .port = 0};
  std::string port = address;
  if (const auto colon = address.rfind(':'); colon != std::string::npos) {
    port = address.substr(colon + 1);
    if (colon > 0) place.host = address.substr(0, colon);
  } else if (address.find('.') != std::string::npos || address == "localhost") {
    place.host = address;
    port = "0";
  }
  if (place.host.size() > 1 && place.host.front() == '[' && place.host.back() == ']')
    place.host = place.host.substr(1, place.host.size() - 2);
  if (place.host == "localhost") place.host = "127.0.0.1";
  const bool has_digits_alone = port.find_first_not_of("0123456789") == std::string::npos;
  if (!has_digits_alone || !absl::SimpleAtoi(port, &place.port) || place.port < 0 || place.port > 65535)
    return cannot(wish, "its port is not a number from 0 to 65535");
  return place;
}

absl::Status refuse(const Wish& wish) {
  return cannot(wish, absl::StrCat("others could reach it there, and ", wish.whose.why_not,
                                   "; listen on 127.0.0.1 and look from another machine by `ssh -L "
                                   "PORT:127.0.0.1:PORT THIS-MACHINE`"));
}

// Fills in the socket's address of a loopback host.
absl::Status fill(const Place& place, const Wish& wish, sockaddr_storage* where, socklen_t* size) {
  auto* four = reinterpret_cast<sockaddr_in*>(where);
  auto* six = reinterpret_cast<sockaddr_in6*>(where);
  if (inet_pton(AF_INET, place.host.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons(static_cast<std::uint16_t>(place.port));
    *size = sizeof(*four);
    return ntohl(four->sin_addr.s_addr) >> 24 == 127 ? absl::OkStatus() : refuse(wish);
  }
  if (inet_pton(AF_INET6, place.host.c_str(), &six->sin6_addr) == 1) {
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(static_cast<std::uint16_t>(place.port));
    *size = sizeof(*six);
    return IN6_IS_ADDR_LOOPBACK(&six->sin6_addr) ? absl::OkStatus() : refuse(wish);
  }
  return refuse(wish);  // a name may resolve to any address
}

int port_of(int socket) {
  sockaddr_storage where{};
  socklen_t size = sizeof(where);
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&where), &size) != 0) return 0;
  return where.ss_family == AF_INET6 ? ntohs(reinterpret_cast<const sockaddr_in6*>(&where)->sin6_port)
                                     : ntohs(reinterpret_cast<const sockaddr_in*>(&where)->sin_port);
}

std::string host_and_port(const Place& place, bool six, int port) {
  return absl::StrCat(six ? "[" : "", place.host, six ? "]:" : ":", port);
}

}  // namespace

absl::StatusOr<std::string> check_address(const std::string& address, const Whose& whose) {
  const Wish wish{.address = address, .whose = whose};
  const auto place = split_address(wish);
  if (!place.ok()) return place.status();
  sockaddr_storage where{};
  socklen_t size = 0;
  if (absl::Status status = fill(*place, wish, &where, &size); !status.ok()) return status;
  return host_and_port(*place, where.ss_family == AF_INET6, place->port);
}

absl::StatusOr<Listener> Listener::bind(const std::string& address, const Whose& whose) {
  const Wish wish{.address = address, .whose = whose};
  const auto place = split_address(wish);
  if (!place.ok()) return place.status();
  sockaddr_storage where{};
  socklen_t size = 0;
  if (absl::Status status = fill(*place, wish, &where, &size); !status.ok()) return status;
  Listener listener;
  listener.socket_ = socket(where.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener.socket_ < 0) return cannot(wish, std::strerror(errno));
  const int on = 1;
  setsockopt(listener.socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  constexpr int kWaiting = 64;
  if (::bind(listener.socket_, reinterpret_cast<const sockaddr*>(&where), size) != 0 ||
      listen(listener.socket_, kWaiting) != 0) {
    const int why = errno;
    return cannot(wish, absl::StrCat(std::strerror(why), why == EADDRINUSE ? "; port 0 takes any free one" : ""));
  }
  listener.port_ = port_of(listener.socket_);
  listener.address_ = host_and_port(*place, where.ss_family == AF_INET6, listener.port_);
  return listener;
}

Listener::~Listener() {
  if (socket_ >= 0) close(socket_);
}

int Listener::accept(bool* again) const {
  const int connection = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
  const int why = errno;
  *again = connection >= 0 || (why != EINVAL && why != EBADF);
  if (connection < 0) return -1;
  const int on = 1;  // an answer is one piece: there is nothing to wait for
  setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return connection;
}

void Listener::close_to_all() const { shutdown(socket_, SHUT_RDWR); }

}  // namespace castscope::web
