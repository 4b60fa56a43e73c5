// HTTP/1.1 for the viewer: a thread for each connection, GET and HEAD, small requests. The one place that knows
// Boost.Beast is http_server.cc.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/web/http/listener.h"

namespace castscope::web {

struct Request {
  std::string method;  // GET; of a HEAD too: what is answered is the same without its body
  std::string path;    // as it was sent: begins with "/", parts may be percent-encoded
  std::string query;   // what stands behind the first "?"
  std::string host;
};

struct Response {
  int status = 200;
  std::string type = {};  // "" = there is no body
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
};

// Called by many threads at once.
using Handler = std::function<Response(const Request&)>;

struct HttpLimits {
  int connections = 64;  // one more is told 503
  // To send a request, and to take the next part of an answer: who needs longer is let go.
  std::chrono::milliseconds patience{10'000};
  std::size_t header_bytes = 32 << 10;
};

class HttpServer {
 public:
  static absl::StatusOr<std::unique_ptr<HttpServer>> start(Listener listener, Handler handler, HttpLimits limits = {});
  ~HttpServer();

  const Listener& listener() const;
  // Breaks off all connections and waits for nobody but a handler at work, and for that at most so long. False: one is
  // still at work; it holds what it needs.
  bool stop(std::chrono::milliseconds at_most);

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace castscope::web
