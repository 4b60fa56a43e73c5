// The viewer (server/web): what a client may send over a connection, from the request's first byte to the answer's
// last; and questions to the API, from the path on.
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "server/web/api/routes.h"
#include "server/web/http/access.h"
#include "server/web/http/http_server.h"
#include "server/web/runs/file_run.h"
#include "server/web/viewer.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/fuzzer.h"
#include "tests/fuzz/sample_file.h"
#include "tests/fuzz/scratch.h"

namespace castscope::fuzz {
namespace {

constexpr char kToken[] = "0123456789abcdefghijkl";
constexpr int kLargestAnswer = 8 << 20;

web::Response ask(web::Runs& runs, const std::string& path, const std::string& query, const std::string& tag = "") {
  return web::answer_api(runs,
                         {.method = "GET", .path = path, .query = query, .host = "localhost", .if_none_match = tag});
}

// A viewer of one run, of which everything is in memory.
web::Runs& viewed_runs() {
  static const std::unique_ptr<web::Runs> runs = [] {
    auto viewed = std::make_unique<web::Runs>();
    viewed->put(
        std::make_shared<web::FileRun>("run", scratch_file("viewed.castscope", sample_file()), web::FileRunOptions()));
    const auto state = [&] { return nlohmann::json::parse(ask(*viewed, "/api/v2/runs/run", "").body)["run_state"]; };
    while (state() == "loading") continue;
    return viewed;
  }();
  return *runs;
}

bool is_asked_for_sql(std::string_view path) { return path.ends_with("/query"); }  // a query may run for seconds

void ask_api(Bytes& bytes) {
  const std::string path = "/api/v2/" + bytes.text(), tag = bytes.text();
  if (is_asked_for_sql(path)) return;
  const web::Response answer = ask(viewed_runs(), path, std::string(bytes.rest()), tag);
  CASTSCOPE_PROMISE(answer.status >= 200 && answer.status < 600, "an answer has a status");
  CASTSCOPE_PROMISE(answer.status != 500, "no question to the API is a fault of ours");
  const bool is_json = answer.type == "application/json" || answer.type == "application/problem+json";
  CASTSCOPE_PROMISE(!is_json || nlohmann::json::accept(answer.body), "an answer in JSON is JSON");
  if (answer.status < 400) return;
  const auto problem = nlohmann::json::parse(answer.body, nullptr, false);
  CASTSCOPE_PROMISE(problem.is_object() && problem.contains("detail"), "a refusal has a sentence");
}

// Writes all of it, tells that nothing more comes, and reads what the server answers.
class FuzzedClient {
 public:
  FuzzedClient() {
    CASTSCOPE_PROMISE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_) == 0, "a fuzzer has a connection");
    for (const int end : ends_) {
      setsockopt(end, SOL_SOCKET, SO_SNDBUFFORCE, &kLargestAnswer, sizeof kLargestAnswer);
      setsockopt(end, SOL_SOCKET, SO_RCVBUFFORCE, &kLargestAnswer, sizeof kLargestAnswer);
    }
  }
  ~FuzzedClient() { close(ends_[0]); }
  FuzzedClient(const FuzzedClient&) = delete;
  FuzzedClient& operator=(const FuzzedClient&) = delete;

  int servers_end() const { return ends_[1]; }  // whoever talks there closes it
  void say_all(std::string_view text) {
    const bool said = send(ends_[0], text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
    CASTSCOPE_PROMISE(said && shutdown(ends_[0], SHUT_WR) == 0, "a fuzzer can send its request");
  }
  std::string hear() {
    std::string all(kLargestAnswer, '\0');
    std::size_t have = 0;
    for (ssize_t got = 0; (got = recv(ends_[0], all.data() + have, all.size() - have, MSG_DONTWAIT)) > 0;)
      have += static_cast<std::size_t>(got);
    all.resize(have);
    return all;
  }

 private:
  int ends_[2] = {-1, -1};
};

void converse(std::string_view text) {
  const web::Handler handler = web::guarded([](const std::string& given) { return given == kToken; },
                                            [](const web::Request& request) {
                                              if (is_asked_for_sql(request.path)) return web::Response();
                                              return web::answer(viewed_runs(), request);
                                            });
  FuzzedClient client;
  client.say_all(text);
  web::converse(client.servers_end(), handler, {.patience = std::chrono::milliseconds(500)});
  const std::string heard = client.hear();
  CASTSCOPE_PROMISE(heard.empty() || heard.starts_with("HTTP/1."), "what is answered is HTTP");
  CASTSCOPE_PROMISE(text.find(kToken) != text.npos || heard.find("200 OK") == heard.npos,
                    "nobody is let in without the token");
}

}  // namespace

CASTSCOPE_FUZZER(viewer, 1500, 8192) {
  Bytes bytes(input);
  if (bytes.flag()) return converse(bytes.rest());
  ask_api(bytes);
}

}  // namespace castscope::fuzz
