// What a client may hold of an HTTP server.
#pragma once

#include <chrono>
#include <cstddef>

namespace castscope::web {

struct HttpLimits {
  // When there are as many, a further one takes the place of one that is waiting for its client (connections.h), or
  // gets the answer 503 where none is.
  int connections = 64;
  // The time to send a request, and to take the next part of an answer; slower clients are disconnected.
  std::chrono::milliseconds patience{10'000};
  // The same for the next part of an answer while all places are taken.
  std::chrono::milliseconds patience_when_full{1000};
  // How long a wrong token waits for its answer.
  std::chrono::milliseconds slowness{1000};
  std::size_t header_bytes = 32 << 10;
};

}  // namespace castscope::web
