#include "server/web/http/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <deque>
#include <latch>
#include <new>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace castscope::web {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A client that sends any bytes.
class Peer {
 public:
  explicit Peer(int port) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(static_cast<std::uint16_t>(port));
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(socket_, reinterpret_cast<sockaddr*>(&where), sizeof(where)), 0);
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer() { close(socket_); }

  Peer& say(const std::string& text) {
    EXPECT_EQ(send(socket_, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
    return *this;
  }
  // Reads everything until the server ends the conversation.
  std::string hear() {
    std::string all;
    char part[4096];
    for (ssize_t got = 0; (got = recv(socket_, part, sizeof(part), 0)) > 0;) all.append(part, static_cast<size_t>(got));
    return all;
  }
  std::string hear(std::size_t bytes) {
    std::string all(bytes, '\0');
    const ssize_t got = recv(socket_, all.data(), bytes, MSG_WAITALL);
    all.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return all;
  }

 private:
  int socket_;
};

class HttpServerTest : public ::testing::Test {
 protected:
  void start(HttpLimits limits = {}, Handler handler = echo()) {
    auto listener = Listener::bind("127.0.0.1:0");
    ASSERT_TRUE(listener.ok()) << listener.status().message();
    server_ = HttpServer::start(*std::move(listener), std::move(handler), limits).value();
  }
  static Handler echo() {
    return [](const Request& request) {
      return Response{
          .status = 200, .type = "text/plain", .body = request.path + "|" + request.query + "|" + request.host};
    };
  }
  Peer peer() { return Peer(server_->listener().port()); }
  std::string answer(const std::string& request) { return peer().say(request).hear(); }

  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, AnswersAGet) {
  start();
  const std::string all = answer("GET /a/b?c=d&e=%20 HTTP/1.1\r\nHost: localhost:1\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(all, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(all, HasSubstr("\r\n\r\n/a/b|c=d&e=%20|localhost:1"));
}

TEST_F(HttpServerTest, ManyRequestsInOneConnection) {
  start();
  Peer one = peer();
  const std::string ask = "GET /x HTTP/1.1\r\nHost: h\r\n\r\n";
  one.say(ask + ask);
  one.say("GET /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  const std::string all = one.hear();
  int answers = 0;
  for (std::size_t at = 0; (at = all.find("/x||h", at)) != std::string::npos; ++at) ++answers;
  EXPECT_EQ(answers, 3);
}

TEST_F(HttpServerTest, AHeadHasTheLengthAndNoBody) {
  start();
  const std::string all = answer("HEAD /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(all, HasSubstr("Content-Length: 5\r\n"));
  EXPECT_TRUE(absl::EndsWith(all, "\r\n\r\n")) << all;
}

TEST_F(HttpServerTest, WhatIsNoSmallGetIsRefused) {
  start();
  EXPECT_THAT(answer("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi"), StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(answer("DELETE / HTTP/1.1\r\nHost: h\r\n\r\n"), StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(answer("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(answer("what is this\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(answer("GET / HTTP/1.1\r\nX: " + std::string(40'000, 'a') + "\r\n\r\n"), StartsWith("HTTP/1.1 431"));
}

// What a server answers by itself is no less closed to others than what its handler answers.
TEST_F(HttpServerTest, EveryAnswerKeepsToItselfErrorsIncluded) {
  start({.connections = 1}, [](const Request& request) {
    if (request.path == "/throws") throw std::bad_alloc();
    return Response{.status = request.path == "/304" ? 304 : 200};
  });
  const std::string end = " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
  for (const std::string& request :
       {"GET /" + end, "GET /304" + end, "GET /throws" + end, "DELETE /" + end, std::string("what is this\r\n\r\n"),
        "GET / HTTP/1.1\r\nX: " + std::string(40'000, 'a')}) {
    const std::string told = answer(request);
    EXPECT_THAT(told, HasSubstr("\r\nContent-Security-Policy: default-src 'none'; script-src 'self'")) << told;
    EXPECT_THAT(told, HasSubstr("frame-ancestors 'none'\r\n")) << told;
    EXPECT_THAT(told, HasSubstr("\r\nReferrer-Policy: no-referrer\r\n")) << told;
    EXPECT_THAT(told, HasSubstr("\r\nX-Content-Type-Options: nosniff\r\n")) << told;
    EXPECT_THAT(told, HasSubstr("\r\nCache-Control: no-store\r\n")) << told;
    EXPECT_THAT(told, ::testing::Not(HasSubstr("Set-Cookie"))) << told;
  }
}

TEST_F(HttpServerTest, ErrorsAreProblemDetails) {
  start();
  const std::string told = answer("DELETE / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(told, HasSubstr("\r\nAllow: GET, HEAD\r\n"));
  EXPECT_THAT(told, HasSubstr("\r\nContent-Type: application/problem+json\r\n"));
  EXPECT_THAT(told, HasSubstr("\r\n\r\n{\"type\":\"about:blank\",\"title\":\"Method Not Allowed\",\"status\":405,"
                              "\"detail\":\"only GET and HEAD are answered\"}"));
}

TEST_F(HttpServerTest, LongTextsAreCompressedForWhoTakesThat) {
  start({}, [](const Request&) {
    return Response{.status = 200, .type = "application/json", .body = std::string(50'000, 'x')};
  });
  const std::string begin = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n";
  EXPECT_THAT(answer(begin + "\r\n"), HasSubstr("Content-Length: 50000\r\n"));
  const std::string packed = answer(begin + "Accept-Encoding: gzip, br\r\n\r\n");
  EXPECT_THAT(packed, HasSubstr("\r\nContent-Encoding: gzip\r\n"));
  EXPECT_LT(packed.size(), 2'000u);
}

TEST_F(HttpServerTest, WhoSendsHalfARequestIsLetGo) {
  start({.patience = milliseconds(50)});
  EXPECT_EQ(peer().say("GET / HT").hear(), "");
  EXPECT_EQ(peer().hear(), "");
}

TEST_F(HttpServerTest, AHandlerLearnsThatItsClientHungUp) {
  std::latch at_work(1), over(1);
  start({}, [&](const Request& request) {
    if (request.path == "/waits") {
      EXPECT_FALSE(request.hung_up());
      at_work.count_down();
      while (!request.hung_up()) std::this_thread::yield();
      over.count_down();
    }
    return Response{.status = 200};
  });
  {
    Peer impatient = peer();
    impatient.say("GET /waits HTTP/1.1\r\nHost: h\r\n\r\n");
    at_work.wait();
  }
  over.wait();
}

TEST_F(HttpServerTest, WhoTakesNothingIsLetGo) {
  start({.connections = 1, .patience = milliseconds(50)},
        [](const Request&) { return Response{.status = 200, .type = "x", .body = std::string(64 << 20, 'x')}; });
  Peer slow = peer();
  slow.say("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(slow.hear(4), "HTTP");
  // The client's place is free again, though it never hung up.
  const std::string ask = "HEAD / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
  std::string all = answer(ask);
  // On a busy machine our own request may take longer than the patience, too.
  while (all.empty() || absl::StartsWith(all, "HTTP/1.1 503")) all = answer(ask);
  EXPECT_THAT(all, StartsWith("HTTP/1.1 200"));
}

const char kAsk[] = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";

TEST_F(HttpServerTest, OneConnectionTooManyLearnsWhy) {
  std::latch begun(2), go_on(1);
  start({.connections = 2}, [&](const Request&) {
    begun.count_down();
    go_on.wait();
    return Response{.status = 200};
  });
  Peer first = peer(), second = peer();
  first.say(kAsk), second.say(kAsk);
  begun.wait();
  EXPECT_THAT(answer(kAsk), StartsWith("HTTP/1.1 503"));
  go_on.count_down();
  EXPECT_EQ(first.hear(12), "HTTP/1.1 200");
  EXPECT_EQ(second.hear(12), "HTTP/1.1 200");
}

TEST_F(HttpServerTest, ClientsThatSendNoWholeRequestKeepNobodyOut) {
  start({.connections = 4});
  Peer known = peer();
  EXPECT_EQ(known.say(kAsk).hear(12), "HTTP/1.1 200");
  std::deque<Peer> slow;
  for (int n = 0; n < 100; ++n) slow.emplace_back(server_->listener().port()).say("GET / HT");
  Peer late = peer();
  EXPECT_EQ(late.say(kAsk).hear(12), "HTTP/1.1 200");
  known.say("GET /again HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(known.hear(), HasSubstr("/again||h"));
  EXPECT_EQ(slow.front().hear(), "") << "the oldest goes first";
}

TEST_F(HttpServerTest, WrongTokensKeepNobodyOut) {
  std::latch all_came(4);
  start({.connections = 4, .slowness = std::chrono::hours(1)}, [&all_came](const Request& request) {
    const bool wrong = request.path == "/wrong";
    if (wrong) all_came.count_down();
    return Response{.status = wrong ? 404 : 200, .slowly = wrong};
  });
  std::deque<Peer> wrong;
  for (int n = 0; n < 4; ++n)
    wrong.emplace_back(server_->listener().port()).say("GET /wrong HTTP/1.1\r\nHost: h\r\n\r\n");
  all_came.wait();
  // Between its handler's return and its waiting none of them gives way.
  std::string heard;
  for (int tries = 0; tries < 1000 && !absl::StartsWith(heard, "HTTP/1.1 200"); ++tries)
    heard = answer("GET /right HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  ASSERT_THAT(heard, StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, AWrongTokenIsAnsweredInTheEnd) {
  start({.slowness = milliseconds(1)}, [](const Request&) { return Response{.status = 404, .slowly = true}; });
  EXPECT_THAT(answer("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"), StartsWith("HTTP/1.1 404"));
}

TEST_F(HttpServerTest, WhoTakesNothingOfItsAnswerMakesRoom) {
  start({.connections = 1, .patience_when_full = milliseconds(0)}, [](const Request& request) {
    return Response{.status = 200, .type = "x", .body = std::string(request.path == "/" ? 64 << 20 : 1, 'x')};
  });
  Peer slow = peer();
  EXPECT_EQ(slow.say(kAsk).hear(4), "HTTP");
  EXPECT_THAT(answer("GET /small HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, WhatAHandlerThrowsCostsItsAnswerOnly) {
  start({}, [](const Request& request) {
    if (request.path == "/huge") throw std::bad_alloc();
    return Response{.status = 200, .type = "x", .body = "well"};
  });
  EXPECT_THAT(answer("GET /huge HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"), StartsWith("HTTP/1.1 500"));
  EXPECT_THAT(answer("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"), HasSubstr("well"));
}

TEST_F(HttpServerTest, StoppingWaitsForNoPeer) {
  start();
  Peer idle = peer(), half = peer();
  half.say("GET / ");
  idle.say("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(idle.hear(12), "HTTP/1.1 200");
  EXPECT_TRUE(server_->stop(std::chrono::seconds(60)));
  EXPECT_THAT(idle.hear(), HasSubstr("||h"));
  EXPECT_EQ(half.hear(), "");
}

TEST_F(HttpServerTest, StoppingLeavesAHandlerThatIsAtWork) {
  auto begun = std::make_shared<std::latch>(1), go_on = std::make_shared<std::latch>(1);
  start({}, [=](const Request&) {
    begun->count_down();
    go_on->wait();
    return Response();
  });
  Peer one = peer();
  one.say("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  begun->wait();
  EXPECT_FALSE(server_->stop(milliseconds(0)));
  go_on->count_down();
  EXPECT_TRUE(server_->stop(std::chrono::seconds(60)));
}

TEST(ListenerTest, OnlyThisMachineCanReachIt) {
  for (const char* address : {"127.0.0.1:0", "localhost:0", "127.9.9.9:0", ":0", "0", "127.0.0.1"})
    EXPECT_TRUE(Listener::bind(address).ok()) << address;
  for (const char* address : {"0.0.0.0:0", "[::]:0", "10.0.0.1:0", "example.com:80", "*:0"}) {
    const auto listener = Listener::bind(address);
    ASSERT_FALSE(listener.ok()) << address;
    EXPECT_THAT(std::string(listener.status().message()), HasSubstr("ssh -L")) << address;
  }
  EXPECT_THAT(std::string(Listener::bind("127.0.0.1:99999").status().message()), HasSubstr("0 to 65535"));
}

TEST(ListenerTest, APortThatIsTakenIsASentence) {
  const auto first = Listener::bind("127.0.0.1:0");
  const auto second = Listener::bind(first->address());
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("port 0 takes any free one"));
}

}  // namespace
}  // namespace castscope::web
