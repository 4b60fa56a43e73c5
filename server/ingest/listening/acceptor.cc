#include "server/ingest/listening/acceptor.h"

#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace castscope::ingest {
namespace {

constexpr int kPauseMs = 100;
// Who gives way has gone after a few thousandths of a second.
constexpr int kBetweenLooksMs = 10;
constexpr int kBetweenLooksAtStrangersMs = 50;

}  // namespace

Acceptor::Acceptor(ListeningSockets sockets, std::shared_ptr<Places> places, Take take)
    : sockets_(std::move(sockets)), places_(std::move(places)), take_(std::move(take)) {
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
    poll(watched.data(), watched.size(), places_->look_at_strangers() ? kBetweenLooksAtStrangersMs : -1);
    if (watched[0].revents != 0) return;
    for (std::size_t i = 1; i < watched.size(); ++i)
      if (watched[i].revents != 0) accept_one(watched[i].fd);
  }
}

bool Acceptor::stops_within(int milliseconds) const {
  pollfd stop{.fd = stop_[0], .events = POLLIN, .revents = 0};
  return poll(&stop, 1, milliseconds) > 0;
}

void Acceptor::accept_one(int listener) {
  sockaddr_storage where{};
  socklen_t size = sizeof where;
  const int connection = accept4(listener, reinterpret_cast<sockaddr*>(&where), &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (connection < 0) {
    // The queue still has it: without a pause this would be a busy loop.
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) (void)stops_within(kPauseMs);
    return;
  }
  if (!gets_place(connection, origin_of(where))) {
    close(connection);
    return;
  }
  const int on = 1;
  setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  take_(listener, connection);
}

bool Acceptor::gets_place(int connection, const Origin& origin) {
  for (;;) {
    const Places::Answer answer = places_->enter(connection, origin);
    if (answer != Places::Answer::kWaits) return answer == Places::Answer::kIn;
    (void)places_->look_at_strangers();
    if (stops_within(kBetweenLooksMs)) return false;
  }
}

}  // namespace castscope::ingest
