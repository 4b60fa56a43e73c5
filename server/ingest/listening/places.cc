#include "server/ingest/listening/places.h"

#include <arpa/inet.h>
#include <linux/tcp.h>  // glibc's netinet/tcp.h has an older tcp_info
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace castscope::ingest {
namespace {

constexpr std::size_t kFewest = 16;
constexpr std::size_t kPartOfOneMachine = 8;
constexpr std::size_t kMostStreams = 16'384;

std::optional<ino_t> socket_at(int descriptor) {
  struct stat info {};
  if (fstat(descriptor, &info) != 0 || !S_ISSOCK(info.st_mode)) return std::nullopt;
  return info.st_ino;
}

// What has come over a TCP connection; nullopt: it is none.
std::optional<std::uint64_t> bytes_received(int connection) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(connection, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
  return info.tcpi_bytes_received;
}

// Whoever owns it notices, and closes it. It cannot be closed here: the number would be the owner's still.
void tell_to_end(int connection) { shutdown(connection, SHUT_RDWR); }

// gRPC escapes the brackets of an IPv6 address, and adds the scope of one that has any ("%eth0", escaped as well).
std::string without_escapes(const std::string& peer) {
  std::string plain = absl::StrReplaceAll(peer, {{"%5B", "["}, {"%5D", "]"}, {"%25", "%"}});
  const std::size_t scope = plain.find('%');
  if (scope != std::string::npos) plain.erase(scope, plain.find(']', scope) - scope);
  return plain;
}

}  // namespace

std::size_t connections_at_most() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kFewest;
  return std::max<std::size_t>(kFewest, limit.rlim_cur / 3);
}

std::size_t streams_at_most() { return std::min(kMostStreams, connections_at_most()); }

Origin origin_of(const sockaddr_storage& where) {
  char text[INET6_ADDRSTRLEN] = {};
  if (where.ss_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(where);
    inet_ntop(AF_INET, &four.sin_addr, text, sizeof text);
    const bool is_here = ntohl(four.sin_addr.s_addr) >> 24 == 127;
    return {.peer = absl::StrCat("ipv4:", text, ":", ntohs(four.sin_port)), .machine = is_here ? "" : text};
  }
  if (where.ss_family != AF_INET6) return {};
  const auto& six = reinterpret_cast<const sockaddr_in6&>(where);
  inet_ntop(AF_INET6, &six.sin6_addr, text, sizeof text);
  const std::string network(reinterpret_cast<const char*>(six.sin6_addr.s6_addr), 8);
  return {.peer = absl::StrCat("ipv6:[", text, "]:", ntohs(six.sin6_port)),
          .machine = IN6_IS_ADDR_LOOPBACK(&six.sin6_addr) ? "" : network};
}

Places::Answer Places::enter(int connection, const Origin& origin, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  if (is_barred(origin, now)) return Answer::kTurnedAway;
  if (taken_.size() >= most_) forget_closed();
  if (taken_.size() < most_) {
    if (const std::optional<ino_t> socket = socket_at(connection))
      taken_.push_back({.connection = connection,
                        .socket = *socket,
                        .origin = origin,
                        .since = now,
                        .is_stranger = !origin.peer.empty()});
    return Answer::kIn;
  }
  if (!origin.machine.empty() && strangers_of(origin.machine) >= part_of_one()) return Answer::kTurnedAway;
  if (std::ranges::any_of(taken_, &Taken::ends)) return Answer::kWaits;
  if (Taken* const one = who_gives_way(now)) {
    one->ends = true;
    tell_to_end(one->connection);
  }
  return Answer::kWaits;
}

bool Places::introduced(const std::string& peer, const std::string& sender) {
  const std::string plain = without_escapes(peer);
  const std::lock_guard lock(mutex_);
  const auto is_new = [&](const Taken& one) { return one.is_stranger && one.origin.peer == plain; };
  if (std::ranges::none_of(taken_, is_new)) return true;
  if (!leaves_some(sender)) return false;
  for (Taken& one : taken_)
    if (is_new(one)) one.is_stranger = false, one.sender = sender;
  return true;
}

bool Places::leaves_some(const std::string& sender) {
  const auto has = [&] { return static_cast<std::size_t>(std::ranges::count(taken_, sender, &Taken::sender)); };
  if (sender.empty() || has() < part_of_one_sender(most_)) return true;
  forget_closed();
  return has() < part_of_one_sender(most_);
}

bool Places::look_at_strangers(Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  std::erase_if(taken_, [](const Taken& one) { return one.is_stranger && socket_at(one.connection) != one.socket; });
  bool any = false;
  for (Taken& one : taken_) {
    if (!one.is_stranger || one.ends) continue;
    any = true;
    const std::uint64_t bytes = bytes_received(one.connection).value_or(0);
    if (bytes <= kMostOfStranger) continue;
    one.ends = true;
    tell_to_end(one.connection);
    Clock::time_point& until = barred_[one.origin.machine];
    until = std::max(until, now + std::chrono::seconds(1 + bytes / kForgottenInASecond));
  }
  return any;
}

bool Places::is_barred(const Origin& origin, Clock::time_point now) {
  std::erase_if(barred_, [&](const auto& entry) { return entry.second <= now; });
  return !origin.peer.empty() && barred_.contains(origin.machine);
}

std::size_t Places::part_of_one() const { return std::max<std::size_t>(1, most_ / kPartOfOneMachine); }

std::size_t Places::strangers_of(const std::string& machine) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      taken_, [&](const Taken& one) { return one.is_stranger && one.origin.machine == machine; }));
}

void Places::forget_closed() {
  std::erase_if(taken_, [](const Taken& one) { return socket_at(one.connection) != one.socket; });
}

// Called right after forget_closed(), so that the number is that connection's still.
Places::Taken* Places::who_gives_way(Clock::time_point now) {
  std::map<std::string, std::size_t> strangers;
  for (const Taken& one : taken_)
    if (one.is_stranger && !one.origin.machine.empty()) ++strangers[one.origin.machine];
  const auto most = std::ranges::max_element(strangers, {}, &std::pair<const std::string, std::size_t>::second);
  const bool has_too_many = most != strangers.end() && most->second >= part_of_one();
  const auto oldest = [this](auto gives_way) {
    const auto found =
        std::ranges::find_if(taken_, [&](const Taken& one) { return one.is_stranger && gives_way(one); });
    return found == taken_.end() ? nullptr : &*found;
  };
  if (has_too_many) return oldest([&](const Taken& one) { return one.origin.machine == most->first; });
  if (Taken* const silent = oldest([&](const Taken& one) {
        return now - one.since >= kPatienceForSilence && bytes_received(one.connection) == 0u;
      }))
    return silent;
  return oldest([&](const Taken& one) { return now - one.since >= kPatience; });
}

}  // namespace castscope::ingest
