// The connections that a collector has, and which of them gives up its place when all places are taken.
//
// A connection is a stranger's until a relay has introduced itself over it, and never gives up its place after that.
// While places are left, everybody gets one. When none is, it goes by the machine that a newcomer comes from:
//
// - If that has an eighth of the places for strangers already, it is turned away: it keeps out itself alone. An honest
//   relay among them tries again within two seconds, by when those before it have introduced themselves.
// - Otherwise the machine with the most strangers, if it has an eighth or more, gives up the oldest of them.
// - Otherwise the oldest stranger of which no byte has come for a second gives way. Whoever means to speak does so at
//   once: a relay begins, in TLS and without.
// - Otherwise the oldest stranger of all gives way, if it has said nothing of use for ten seconds, which is how long a
//   handshake may take.
// - Otherwise the newcomer waits, and with it those behind it in the system's queue.
//
// A stranger that sends more than a hello takes is ended, places or not, and for some seconds nobody from its machine
// gets in. gRPC 1.51 makes a thread and some ten kilobytes of each call, and a call takes 400 bytes of whoever begins
// it and takes it back at once ("rapid reset", CVE-2023-44487); no setting of it bounds these.
//
// Of the five, only the last three hold for whoever comes from this machine. Its jobs may be many at once and have one
// address, and an eighth for each address would not stop its users: each of them may take any address of 127.0.0.0/8.
// Over a Unix socket nobody gives way, since nobody could be told from others after his introduction; such a socket is
// its user's alone, or asks for a token.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace castscope::ingest {

// Where a connection comes from.
struct Origin {
  // gRPC's name of the peer, without escapes: "ipv4:192.0.2.1:4711". "" = a Unix socket: gRPC gives all peers one name
  std::string peer = {};
  std::string machine = {};  // "" = this machine. For IPv6 its /64 network: one machine may use all of its addresses
};
Origin origin_of(const sockaddr_storage& where);

// All functions may be called from any thread.
class Places {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kPatience{10}, kPatienceForSilence{1};
  // A handshake, a hello of at most one megabyte, and what may come behind it before it is read.
  static constexpr std::uint64_t kMostOfStranger = 2u << 20;
  // How fast gRPC gets over what a stranger sent beyond it.
  static constexpr std::uint64_t kForgottenInASecond = 512u << 10;
  explicit Places(std::size_t most) : most_(most) {}

  enum class Answer { kIn, kWaits, kTurnedAway };
  // Asks for a place for a connected socket. One that waits asks again: somebody may be about to give way to it. Who
  // gets in may be closed by whoever owns it without a word to this object.
  Answer enter(int connection, const Origin& origin, Clock::time_point now = Clock::now());
  // A relay has introduced itself over this connection. `peer`: as gRPC names it. `sender`: whose token it gave; "" =
  // no token was asked for. Returns false if this sender has three quarters of the places already: they are never taken
  // back, so one of several senders leaves some to others, and this connection stays a stranger's.
  [[nodiscard]] bool introduced(const std::string& peer, const std::string& sender = "");
  // Ends the strangers that have sent too much. Returns whether there are strangers: they are to be looked at again
  // soon.
  bool look_at_strangers(Clock::time_point now = Clock::now());

 private:
  struct Taken {
    int connection = -1;
    ino_t socket = 0;  // whoever closes it does not say so: a number that was given again is known by this
    Origin origin;
    Clock::time_point since;
    bool is_stranger = true, ends = false;
    std::string sender = {};  // who introduced himself
  };
  bool is_barred(const Origin& origin, Clock::time_point now);
  std::size_t part_of_one() const;
  std::size_t strangers_of(const std::string& machine) const;
  void forget_closed();
  bool leaves_some(const std::string& sender);
  Taken* who_gives_way(Clock::time_point now);

  const std::size_t most_;
  std::mutex mutex_;
  std::vector<Taken> taken_;                         // the oldest first
  std::map<std::string, Clock::time_point> barred_;  // machines, and until when
};

// A third of the process's descriptors: each run takes four more for its file.
std::size_t connections_at_most();
// A relay has one stream, which holds a thread.
std::size_t streams_at_most();

// How many of `all` places, streams or threads one of several senders may have.
constexpr std::size_t part_of_one_sender(std::size_t all) { return all / 4 * 3; }

}  // namespace castscope::ingest
