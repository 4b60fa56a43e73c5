// HTTP/1.1 for the viewer: a thread for each connection, GET and HEAD, small requests. Only http_server.cc knows
// Boost.Beast.
#pragma once

#include <chrono>
#include <memory>

#include "absl/status/statusor.h"
#include "server/web/http/http_limits.h"
#include "server/web/http/listener.h"
#include "server/web/http/message.h"

namespace castscope::web {

// Talks with one client over a connected socket of any kind, in the caller's thread, until the conversation is over.
// Closes the socket.
void converse(int socket, Handler handler, HttpLimits limits = {});

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
