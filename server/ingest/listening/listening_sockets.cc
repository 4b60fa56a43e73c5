#include "server/ingest/listening/listening_sockets.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "proto/unix_address.h"
#include "server/ingest/listening/address.h"

namespace castscope::ingest {
namespace {

absl::Status cannot(const std::string& address, int error) {
  const char* const why = error == EADDRINUSE      ? "it is in use"
                          : error == EACCES        ? "it may not be used by this user"
                          : error == EADDRNOTAVAIL ? "it is not an address of this machine"
                                                   : std::strerror(error);
  return absl::UnavailableError(absl::StrCat("cannot listen on ", address, ": ", why));
}

// Returns whether the path is a file that is no socket. bind() reports EADDRINUSE for such a file, too.
bool is_no_socket(const std::string& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0 && !S_ISSOCK(info.st_mode);
}

absl::Status cannot_replace(const std::string& address, const std::string& path) {
  struct stat info {};
  const bool is_ordinary = lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
  return absl::UnavailableError(
      absl::StrCat("cannot listen on ", address, ": ", path,
                   is_ordinary ? " is an ordinary file, and no socket" : " is there already, and is no socket",
                   "; give another path, or remove it"));
}

int port_of(int socket) {
  sockaddr_storage where{};
  socklen_t size = sizeof where;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&where), &size) != 0) return 0;
  return ntohs(where.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&where)->sin6_port
                                           : reinterpret_cast<const sockaddr_in*>(&where)->sin_port);
}

void set_port(sockaddr* where, int port) {
  if (where->sa_family == AF_INET6)
    reinterpret_cast<sockaddr_in6*>(where)->sin6_port = htons(static_cast<std::uint16_t>(port));
  else
    reinterpret_cast<sockaddr_in*>(where)->sin_port = htons(static_cast<std::uint16_t>(port));
}

// Returns a socket that listens there, or -1 with errno.
int listen_on(int family, const sockaddr* where, socklen_t size) {
  const int one = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (one < 0) return -1;
  const int on = 1;
  if (family != AF_UNIX) setsockopt(one, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (family == AF_INET6) setsockopt(one, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (bind(one, where, size) == 0 && listen(one, SOMAXCONN) == 0) return one;
  const int error = errno;
  close(one);
  errno = error;
  return -1;
}

// Removes a socket's file on which nobody listens any more.
void remove_abandoned(const sockaddr_un& where, socklen_t size) {
  struct stat info {};
  if (lstat(where.sun_path, &info) != 0 || !S_ISSOCK(info.st_mode)) return;
  const int one = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (one < 0) return;
  if (connect(one, reinterpret_cast<const sockaddr*>(&where), size) != 0 && errno == ECONNREFUSED)
    unlink(where.sun_path);
  close(one);
}

}  // namespace

absl::Status ListeningSockets::open_file(const std::string& address) {
  const std::string path = socket_path(address);
  sockaddr_un where{.sun_family = AF_UNIX, .sun_path = {}};
  socklen_t size = sizeof where;
  if (path.empty()) {  // "unix-abstract:NAME"
    const std::string name = address.substr(address.find(':') + 1);
    if (name.size() + 1 > sizeof where.sun_path) return cannot(address, ENAMETOOLONG);
    std::memcpy(where.sun_path + 1, name.data(), name.size());
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  } else {
    std::memcpy(where.sun_path, path.data(), path.size());
    remove_abandoned(where, size);
  }
  const mode_t mask = umask(0177);  // nobody else may connect
  const int one = listen_on(AF_UNIX, reinterpret_cast<const sockaddr*>(&where), size);
  const int error = errno;
  umask(mask);
  if (one < 0)
    return error == EADDRINUSE && is_no_socket(path) ? cannot_replace(address, path) : cannot(address, error);
  sockets_.push_back(one);
  file_ = path;
  address_ = address;
  return absl::OkStatus();
}

absl::Status ListeningSockets::open_host(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  const addrinfo hints{.ai_flags = AI_PASSIVE | AI_NUMERICSERV,
                       .ai_family = AF_UNSPEC,
                       .ai_socktype = SOCK_STREAM,
                       .ai_protocol = 0,
                       .ai_addrlen = 0,
                       .ai_addr = nullptr,
                       .ai_canonname = nullptr,
                       .ai_next = nullptr};
  addrinfo* list = nullptr;
  if (const int error = getaddrinfo(host.c_str(), address.substr(colon + 1).c_str(), &hints, &list); error != 0)
    return absl::UnavailableError(absl::StrCat("cannot listen on ", address, ": ", gai_strerror(error)));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(list, freeaddrinfo);
  int port = 0, error = EADDRNOTAVAIL;
  for (addrinfo* one = list; one != nullptr; one = one->ai_next) {
    if (port != 0) set_port(one->ai_addr, port);  // a name's addresses share the port that the first one got
    const int socket = listen_on(one->ai_family, one->ai_addr, one->ai_addrlen);
    if (socket < 0) {
      error = errno;
      if (error == EADDRINUSE || error == EACCES) return cannot(address, error);
      continue;
    }
    sockets_.push_back(socket);
    port = port_of(socket);
  }
  if (sockets_.empty()) return cannot(address, error);
  address_ = absl::StrCat(address.substr(0, colon), ":", port);
  return absl::OkStatus();
}

absl::StatusOr<ListeningSockets> ListeningSockets::open(const std::string& address) {
  ListeningSockets sockets;
  absl::Status status = wire::is_unix(address) ? sockets.open_file(address) : sockets.open_host(address);
  if (!status.ok()) return status;
  return sockets;
}

ListeningSockets::ListeningSockets(ListeningSockets&& other) noexcept
    : sockets_(std::exchange(other.sockets_, {})),
      address_(std::move(other.address_)),
      file_(std::exchange(other.file_, {})) {}

ListeningSockets::~ListeningSockets() {
  for (const int one : sockets_) close(one);
  if (!file_.empty()) unlink(file_.c_str());
}

}  // namespace castscope::ingest
