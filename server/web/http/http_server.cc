#include "server/web/http/http_server.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <cerrno>
#include <exception>
#include <new>
#include <optional>
#include <system_error>
#include <thread>

#include "server/web/http/compression.h"
#include "server/web/http/connections.h"
#include "server/web/http/problem.h"
#include "server/web/http/security_headers.h"

namespace castscope::web {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace asio = boost::asio;
using boost::system::error_code;
using std::chrono::milliseconds;

constexpr milliseconds kPatienceWithRefused{1000};

// Data that connections share. Each connection holds a reference, so one that is still at work outlives the server.
struct Shared {
  Shared(Handler answers, const HttpLimits& bounds)
      : handler(std::move(answers)), limits(bounds), connections(bounds) {}
  const Handler handler;
  const HttpLimits limits;
  Connections connections;
};

class Connection {
 public:
  Connection(int socket, Shared& shared, bool refused)
      : shared_(shared),
        socket_(socket),
        refused_(refused),
        patience_(refused ? std::min(kPatienceWithRefused, shared.limits.patience) : shared.limits.patience),
        stream_(context_),
        buffer_(shared.limits.header_bytes + 4096) {
    error_code bad;
    stream_.socket().assign(asio::ip::tcp::v4(), socket, bad);
  }

  void converse() {
    while (answer_one()) {
    }
    linger();
  }

 private:
  // Runs one operation on the stream to its end, or until its time is over.
  template <typename Start>
  error_code finish(Start start) {
    error_code result;
    stream_.expires_after(patience_);
    start([&result](error_code error, std::size_t) { result = error; });
    context_.restart();
    context_.run();
    return result;
  }

  // Returns false when the conversation is over.
  bool answer_one() {
    if (!shared_.connections.awaits_request(socket_)) return false;
    http::request_parser<http::empty_body> parser;
    parser.header_limit(static_cast<std::uint32_t>(shared_.limits.header_bytes));
    const error_code error = finish([&](auto done) { http::async_read_header(stream_, buffer_, parser, done); });
    if (error == http::error::header_limit || error == http::error::buffer_overflow)
      return refuse(431, "the request's header is too long");
    const bool is_bad = error && error.category() == make_error_code(http::error::bad_method).category();
    if (is_bad && error != http::error::end_of_stream && error != http::error::partial_message)
      return refuse(400, "this is not an HTTP request");
    if (error) return false;
    return answer(parser);
  }

  bool answer(const http::request_parser<http::empty_body>& parser) {
    const auto& request = parser.get();
    if (request.method() != http::verb::get && request.method() != http::verb::head) {
      Response no = problem(405, "only GET and HEAD are answered");
      no.headers.emplace_back("Allow", "GET, HEAD");
      return send(no, false, request.version(), false);
    }
    if (!parser.is_done()) return refuse(400, "a request with a body is not answered");
    if (refused_) return refuse(503, "too many connections at once");
    if (!shared_.connections.handles(socket_)) return false;
    const bool is_head = request.method() == http::verb::head;
    const std::string target(request.target());
    const std::size_t mark = std::min(target.find('?'), target.size());
    Request asked{.method = "GET",
                  .path = target.substr(0, mark),
                  .query = mark < target.size() ? target.substr(mark + 1) : std::string(),
                  .host = std::string(request[http::field::host]),
                  .authorization = std::string(request[http::field::authorization]),
                  .if_none_match = std::string(request[http::field::if_none_match]),
                  .accept_encoding = std::string(request[http::field::accept_encoding]),
                  .hung_up = [this] { return hung_up(); }};
    Response response = handle(asked);
    if (response.slowly && !wait_slowly()) return false;
    return send(std::move(response), is_head, request.version(), request.keep_alive());
  }

  // Returns false when the client has gone meanwhile, or its place was given away.
  bool wait_slowly() {
    if (!shared_.connections.slows(socket_)) return false;
    pollfd end{.fd = socket_, .events = POLLRDHUP, .revents = 0};
    return poll(&end, 1, static_cast<int>(shared_.limits.slowness.count())) == 0;
  }

  // Looks at the socket without reading from it: the next request may already be there.
  bool hung_up() {
    char first = 0;
    const ssize_t got = recv(stream_.socket().native_handle(), &first, 1, MSG_PEEK | MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
  }

  // An exception of a library (no memory for a huge answer) costs this answer, not the recording in the same process.
  Response handle(const Request& asked) {
    try {
      Response response = shared_.handler(asked);
      compress_for(asked.accept_encoding, response);
      return response;
    } catch (const std::exception& error) {
      return problem(500, error.what());
    }
  }

  bool refuse(int status, const char* why) {
    Response no = problem(status, why);
    if (status == 503) no.headers.emplace_back("Retry-After", "1");
    return send(std::move(no), false, 11, false);
  }

  bool send(Response response, bool is_head, unsigned version, bool keep_alive) {
    http::response<http::string_body> message;
    message.result(static_cast<unsigned>(response.status));
    message.version(version);
    add_security_headers(response);
    for (const auto& [name, value] : response.headers) message.set(name, value);
    if (!response.type.empty()) message.set(http::field::content_type, response.type);
    if (response.status != 304) message.content_length(response.body.size());  // there it would be the whole answer's
    message.keep_alive(keep_alive);
    if (!is_head) message.body() = std::move(response.body);
    // The answer is sent piece by piece: a slow reader gets the full time again with each piece that it takes.
    http::response_serializer<http::string_body> serializer(message);
    while (!serializer.is_done()) {
      if (!shared_.connections.sends(socket_)) return false;
      const error_code error = finish([&](auto done) {
        if (is_head) {
          http::async_write_header(stream_, serializer, done);
        } else {
          http::async_write_some(stream_, serializer, done);
        }
      });
      if (error) return false;
      if (is_head) break;
    }
    return keep_alive;
  }

  // Reads what the peer has still sent; otherwise the kernel would discard our last answer.
  void linger() {
    error_code bad;
    stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, bad);
    char rest[4096];
    for (int i = 0; i < 16 && !bad; ++i) {
      stream_.expires_after(std::min(patience_, kPatienceWithRefused));
      stream_.async_read_some(asio::buffer(rest), [&bad](error_code error, std::size_t) { bad = error; });
      context_.restart();
      context_.run();
    }
  }

  Shared& shared_;
  const int socket_;
  const bool refused_;
  const milliseconds patience_;
  asio::io_context context_{1};
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
};

// Runs in the thread of one connection.
void serve(const std::shared_ptr<Shared>& shared, int socket, bool refused) {
  std::optional<Connection> connection;
  try {
    connection.emplace(socket, *shared, refused);
    connection->converse();
  } catch (const std::exception&) {  // no memory, not even to say so
  }
  shared->connections.gone(socket);  // before it is closed, since the number can then be reused
  if (!connection) close(socket);
}

}  // namespace

void converse(int socket, Handler handler, HttpLimits limits) {
  const auto shared = std::make_shared<Shared>(std::move(handler), limits);
  const bool refused = shared->connections.enter(socket) != Connections::Entry::kServed;
  serve(shared, socket, refused);
}

class HttpServer::Impl {
 public:
  Impl(Listener listener, Handler handler, HttpLimits limits)
      : listener_(std::move(listener)), shared_(std::make_shared<Shared>(std::move(handler), limits)) {}
  absl::Status start() {
    try {
      thread_ = std::thread([this] { take_connections(); });
    } catch (const std::system_error&) {
      return absl::ResourceExhaustedError("the viewer gets no thread: the limits allow none (ulimit -u, -v)");
    }
    return absl::OkStatus();
  }
  bool stop(milliseconds at_most) {
    if (!shared_->connections.stopping()) {
      shared_->connections.stop();
      listener_.close_to_all();
      if (thread_.joinable()) thread_.join();
    }
    return shared_->connections.wait_until_all_gone(at_most);
  }
  const Listener& listener() const { return listener_; }

 private:
  void take_connections() {
    for (bool again = true; again;) {
      const int socket = listener_.accept(&again);
      if (socket >= 0) {
        begin(socket);
      } else if (again) {  // out of descriptors: try again until one is free
        shared_->connections.wait_until_stopping(milliseconds(100));
      }
    }
  }
  void begin(int socket) {
    try {
      const Connections::Entry entry = shared_->connections.enter(socket);
      if (entry != Connections::Entry::kClosed) {
        std::thread(serve, shared_, socket, entry == Connections::Entry::kRefused).detach();
        return;
      }
    } catch (const std::system_error&) {  // no thread
    } catch (const std::bad_alloc&) {
    }
    shared_->connections.gone(socket);
    close(socket);
  }

  Listener listener_;
  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::start(Listener listener, Handler handler, HttpLimits limits) {
  auto impl = std::make_unique<Impl>(std::move(listener), std::move(handler), limits);
  if (absl::Status status = impl->start(); !status.ok()) return status;
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() { (void)impl_->stop(milliseconds(0)); }
const Listener& HttpServer::listener() const { return impl_->listener(); }
bool HttpServer::stop(milliseconds at_most) { return impl_->stop(at_most); }

}  // namespace castscope::web
