#include "server/ingest/listening/acceptor.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

namespace castscope::ingest {
namespace {

constexpr int kPauseMs = 100;
constexpr std::size_t kFewest = 16;

std::optional<ino_t> socket_at(int descriptor) {
  struct stat info {};
  if (fstat(descriptor, &info) != 0 || !S_ISSOCK(info.st_mode)) return std::nullopt;
  return info.st_ino;
}

}  // namespace

std::size_t connections_at_most() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kFewest;
  return std::max<std::size_t>(kFewest, limit.rlim_cur / 3);
}

Acceptor::Acceptor(ListeningSockets sockets, std::size_t most, Take take)
    : sockets_(std::move(sockets)), most_(most), take_(std::move(take)) {
  if (pipe2(stop_, O_CLOEXEC) != 0) return;
  thread_ = std::thread([this] { accept_until_stopped(); });
}

Acceptor::~Acceptor() {
  if (stop_[1] >= 0) close(stop_[1]);
  if (thread_.joinable()) thread_.join();
  if (stop_[0] >= 0) close(stop_[0]);
}

void Acceptor::accept_until_stopped() {
  std::vector<pollfd> watched = {{.fd = stop_[0], .events = POLLIN, .revents = 0}};
  for (const int one : sockets_.sockets()) watched.push_back({.fd = one, .events = POLLIN, .revents = 0});
  for (;;) {
    const bool room = has_room();
    // Without room only the end is waited for, and connections stay in the system's queue.
    poll(watched.data(), room ? watched.size() : 1, room ? -1 : kPauseMs);
    if (watched[0].revents != 0) return;
    if (!room) continue;
    for (std::size_t i = 1; i < watched.size(); ++i)
      if (watched[i].revents != 0) accept_one(watched[i].fd);
  }
}

bool Acceptor::has_room() {
  if (taken_.size() < most_) return true;
  std::erase_if(taken_, [](const auto& one) { return socket_at(one.first) != one.second; });
  return taken_.size() < most_;
}

void Acceptor::accept_one(int listener) {
  const int connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (connection < 0) {
    // The queue still has it: without a pause this would be a busy loop.
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) poll(nullptr, 0, kPauseMs);
    return;
  }
  const int on = 1;
  setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (const std::optional<ino_t> socket = socket_at(connection)) taken_.emplace_back(connection, *socket);
  take_(listener, connection);
}

}  // namespace castscope::ingest
