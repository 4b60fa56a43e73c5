// The living connections of an HTTP server, and which of them gives up its place for a new one.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>

#include "server/web/http/http_limits.h"

namespace castscope::web {

// All functions may be called from any thread. A socket stays open until gone() was called for it.
//
// When all places are taken, the connection gives up its place that has waited longest of these, in this order: those
// that are answered slowly, those whose client has sent no whole request yet, those whose client takes nothing of its
// answer, those whose client has nothing to ask. So whoever sends requests is answered, however many others hold
// connections. A connection whose request is being handled keeps its place.
class Connections {
 public:
  using Clock = std::chrono::steady_clock;
  explicit Connections(const HttpLimits& limits) : limits_(limits) {}

  enum class Entry { kServed, kRefused, kClosed };
  // Takes a connection in, or says why not: kRefused has a moment to be told so, and kClosed is to be closed unheard.
  Entry enter(int socket);
  // What a connection does from now on. Returns false when it was told to end.
  bool awaits_request(int socket) { return goes_on(socket, State::kIdle); }
  bool handles(int socket) { return goes_on(socket, State::kAtWork); }
  bool slows(int socket) { return goes_on(socket, State::kSlowed); }
  bool sends(int socket) { return goes_on(socket, State::kSending); }
  void gone(int socket);

  // Ends all connections, and takes none in any more.
  void stop();
  bool stopping() const;
  bool wait_until_stopping(std::chrono::milliseconds at_most) const;
  bool wait_until_all_gone(std::chrono::milliseconds at_most) const;

 private:
  enum class State { kSlowed, kNew, kSending, kIdle, kAtWork };  // in the order in which they give up their places
  struct Connection {
    State state = State::kNew;
    Clock::time_point since;
    bool refused = false, ends = false;
  };
  bool goes_on(int socket, State state);
  int served() const;
  bool make_room();

  const HttpLimits limits_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::map<int, Connection> living_;  // by socket
  bool stopping_ = false;
};

}  // namespace castscope::web
