// Accepts the collector's connections, and lets no more in than the process has descriptors for. gRPC cannot be left to
// it: its listener ends for good at the first connection for which no descriptor is left (gRPC 1.51,
// src/core/lib/iomgr/tcp_server_posix.cc, on_read).
#pragma once

#include <sys/types.h>
#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/ingest/listening/listening_sockets.h"

namespace castscope::ingest {

class Acceptor {
 public:
  // `take` becomes the owner of the connection; it is called from a thread of the acceptor.
  using Take = std::function<void(int listener, int connection)>;
  // While `most` connections are open, further ones wait in the system's queue.
  Acceptor(ListeningSockets sockets, std::size_t most, Take take);
  ~Acceptor();  // no connection is accepted after this; those that were stay open

  const std::string& address() const { return sockets_.address(); }

 private:
  void accept_until_stopped();
  bool has_room();
  void accept_one(int listener);

  const ListeningSockets sockets_;
  const std::size_t most_;
  const Take take_;
  std::vector<std::pair<int, ino_t>> taken_;  // descriptor and socket: who took it does not say when it is closed
  int stop_[2] = {-1, -1};                    // a pipe
  std::thread thread_;
};

// A third of the process's descriptors: each run takes four more for its file.
std::size_t connections_at_most();

}  // namespace castscope::ingest
