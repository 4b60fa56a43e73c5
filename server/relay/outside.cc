#include "server/relay/outside.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <utility>

namespace castscope::relay {
namespace {

// Every user of this machine may send: one look takes this many, so that nobody keeps the relay busy.
constexpr int kMostAtOnce = 64;

std::optional<ucred> sender_in(msghdr& message) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_CREDENTIALS) continue;
    ucred sender{};
    std::memcpy(&sender, CMSG_DATA(part), sizeof sender);
    return sender;
  }
  return std::nullopt;
}

bool is_known(std::uint32_t kind) {
  return kind == CASTSCOPE_OUTSIDE_NOT_THERE || kind == CASTSCOPE_OUTSIDE_NOT_PERMITTED ||
         kind == CASTSCOPE_OUTSIDE_OWN_RUN;
}

}  // namespace

std::unique_ptr<Outside> Outside::listen(const std::string& run_directory, const std::string& secret) {
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return nullptr;
  const int yes = 1;
  sockaddr_un address{};
  const socklen_t length = castscope_outside_address(&address, run_directory.c_str());
  if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) != 0 ||
      bind(fd, reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    close(fd);
    return nullptr;
  }
  return std::unique_ptr<Outside>(new Outside(fd, run_directory, secret));
}

Outside::~Outside() { close(fd_); }

// Root and our own user could change the run directory itself.
bool Outside::is_of_the_job(uid_t sender, const castscope_outside& told) const {
  return sender == geteuid() || sender == 0 || (!secret_.empty() && secret_ == told.secret);
}

std::vector<Outsider> Outside::take() {
  std::vector<Outsider> result;
  for (int i = 0; i < kMostAtOnce; ++i) {
    castscope_outside told{};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
    iovec part{.iov_base = &told, .iov_len = sizeof told};
    msghdr message{};
    message.msg_iov = &part, message.msg_iovlen = 1;
    message.msg_control = control, message.msg_controllen = sizeof control;
    if (recvmsg(fd_, &message, MSG_CMSG_CLOEXEC) < 0) break;
    const std::optional<ucred> sender = sender_in(message);
    told.run_directory[sizeof told.run_directory - 1] = '\0';
    told.secret[sizeof told.secret - 1] = '\0';
    if (!sender || told.magic != CASTSCOPE_OUTSIDE_MAGIC || !is_known(told.kind) ||
        run_directory_ != told.run_directory || !is_of_the_job(sender->uid, told))
      continue;
    result.push_back({.kind = static_cast<castscope_outside_kind>(told.kind), .pid = sender->pid, .uid = sender->uid});
  }
  return result;
}

}  // namespace castscope::relay
