// HTTP/1.1 for the viewer: a thread for each connection, GET and HEAD, small requests. Only http_server.cc knows
// Boost.Beast.
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
  std::string method;  // GET; for HEAD too: the answer is the same without its body
  std::string path;    // as sent: begins with "/", parts may be percent-encoded
  std::string query;   // the part after the first "?"
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
