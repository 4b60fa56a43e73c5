// HTTP/1.1 for the viewer: a thread for each connection, GET and HEAD, small requests. Only http_server.cc knows
// Boost.Beast.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "server/web/http/listener.h"
#include "server/web/http/message.h"

namespace castscope::web {

struct HttpLimits {
  int connections = 64;  // a further one gets the answer 503
  // The time to send a request, and to take the next part of an answer; slower clients are disconnected.
  std::chrono::milliseconds patience{10'000};
  std::size_t header_bytes = 32 << 10;
};

class HttpServer {
 public:
  static absl::StatusOr<std::unique_ptr<HttpServer>> start(Listener listener, Handler handler, HttpLimits limits = {});
  ~HttpServer();

  const Listener& listener() const;
  // Closes all connections and waits only for handlers that are at work, and for those at most so long. Returns false
  // if one is still at work; it holds what it needs.
  bool stop(std::chrono::milliseconds at_most);

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace castscope::web
