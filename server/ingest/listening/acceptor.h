// Accepts the collector's connections, and lets no more in than the process has descriptors for. gRPC cannot be left to
// it: its listener ends for good at the first connection for which no descriptor is left (gRPC 1.51,
// src/core/lib/iomgr/tcp_server_posix.cc, on_read).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "server/ingest/listening/listening_sockets.h"
#include "server/ingest/listening/places.h"

namespace castscope::ingest {

class Acceptor {
 public:
  // `take` becomes the owner of the connection; it is called from a thread of the acceptor.
  using Take = std::function<void(int listener, int connection)>;
  // A connection without a place waits, and further ones in the system's queue.
  Acceptor(ListeningSockets sockets, std::shared_ptr<Places> places, Take take);
  ~Acceptor();  // no connection is accepted after this; those that were stay open

  const std::string& address() const { return sockets_.address(); }

 private:
  void accept_until_stopped();
  void accept_one(int listener);
  bool gets_place(int connection, const Origin& origin);
  bool stops_within(int milliseconds) const;

  const ListeningSockets sockets_;
  const std::shared_ptr<Places> places_;
  const Take take_;
  int stop_[2] = {-1, -1};  // a pipe
  std::thread thread_;
};

}  // namespace castscope::ingest
