// What people read who have given the wrong options for TLS.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "server/ingest/server.h"
#include "server/ingest/testing/recording_sink.h"
#include "server/relay/relay.h"
#include "server/relay/sending/connect.h"
#include "server/relay/sending/tls_probe.h"
#include "tests/integration/certificate.h"
#include "tests/integration/wire_job.h"

namespace castscope {
namespace {

using testing::HasSubstr;

class TlsTroubleTest : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return secrets_.path() + "/" + name; }
  // The port of a collector, with TLS or without. Its certificate is for 127.0.0.1.
  std::string listen(bool tls, const std::string& host = "127.0.0.1") {
    EXPECT_TRUE(write_certificate(file("certificate"), file("key")));
    ingest::Options options{.address = host + ":0"};
    if (tls) options.certificate_file = file("certificate"), options.key_file = file("key");
    auto sink = std::make_shared<ingest::RecordingSink>();
    auto server = ingest::Server::start(options, {.open = [sink](const ingest::RunOpening&) { return sink; },
                                                  .close = [](const std::string&, const ingest::RunClosing&) {}});
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    return server_->address().substr(server_->address().rfind(':'));
  }
  // What a relay to this address says, once it knows.
  std::string trouble(const std::string& address, const relay::Tls& tls) {
    auto channel = relay::connect(address, tls);
    EXPECT_TRUE(channel.ok()) << channel.status();
    relay::Options options;
    options.run_directory = run_.path();
    options.run.id = "run";
    options.channel = *std::move(channel);
    relay::Relay relay(options);
    EXPECT_TRUE(relay.start().ok());
    while (relay.trouble().empty()) (void)relay.wait_until_quiet(std::chrono::milliseconds(1));
    return relay::what_is_wrong_with_tls(address, tls, relay.trouble());
  }

  TemporaryDirectory secrets_, run_;
  std::unique_ptr<ingest::Server> server_;
};

TEST_F(TlsTroubleTest, WithTls) {
  const std::string port = listen(true);
  EXPECT_THAT(trouble("127.0.0.1" + port, {}), HasSubstr("speaks TLS there: give --tls"));
  EXPECT_THAT(trouble("127.0.0.1" + port, {.use = true}),
              HasSubstr("no authority that this system knows stands for the collector's certificate"));
  ASSERT_TRUE(write_certificate(file("another"), file("its key")));
  EXPECT_THAT(trouble("127.0.0.1" + port, {.use = true, .root_certificate_file = file("another")}),
              HasSubstr("do not stand for the collector's certificate"));
}

TEST_F(TlsTroubleTest, WhereTheCertificateIsForSomebodyElse) {
  const std::string port = listen(true, "127.0.0.2");
  EXPECT_THAT(trouble("127.0.0.2" + port, {.use = true, .root_certificate_file = file("certificate")}),
              HasSubstr("certificate is for 127.0.0.1, and not for 127.0.0.2"));
}

// gRPC is not asked to find "localhost": a machine without /etc/hosts does not know it.
TEST_F(TlsTroubleTest, WhereTheCertificateIsNotForAName) {
  EXPECT_THAT(
      relay::why_tls_failed("localhost" + listen(true), {.use = true, .root_certificate_file = file("certificate")},
                            "the connection to the collector was lost: Socket closed"),
      HasSubstr("certificate is for 127.0.0.1, and not for localhost"));
}

TEST_F(TlsTroubleTest, WithoutTls) {
  EXPECT_EQ(trouble("127.0.0.1" + listen(false), {.use = true}), "who listens there does not speak TLS");
}

// A collector with TLS closes a connection without it, and gRPC does not say more.
TEST_F(TlsTroubleTest, WithoutTlsWhereItIsSpoken) {
  const std::string address = "127.0.0.1" + listen(true);
  for (const char* failure : {"the connection to the collector was lost: Socket closed",
                              "no connection to the collector: failed to connect to all addresses; last error: "
                              "UNKNOWN: tcp handshaker shutdown"})
    EXPECT_THAT(relay::why_tls_failed(address, {}, failure), HasSubstr("speaks TLS there: give --tls"));
}

TEST_F(TlsTroubleTest, WhereNobodyListensTheConnectionIsRefused) {
  const std::string failure = "no connection to the collector: tcp handshaker shutdown";
  EXPECT_THAT(relay::why_tls_failed("localhost:1", {}, failure), HasSubstr("connection refused"));
  EXPECT_THAT(relay::why_tls_failed("127.0.0.1:1", {.use = true}, failure), HasSubstr("connection refused"));
}

TEST_F(TlsTroubleTest, WhatSaysWhatIsWrongStays) {
  const std::string why = "the collector does not acknowledge it";
  EXPECT_EQ(relay::why_tls_failed("127.0.0.1" + listen(true), {}, why), why);
}

TEST_F(TlsTroubleTest, NothingIsSaidOfOtherTroubles) {
  EXPECT_EQ(relay::what_is_wrong_with_tls("127.0.0.1:1", {}, "no connection: ipv4:127.0.0.1:1: refused"), "");
  EXPECT_EQ(relay::what_is_wrong_with_tls("host:1", {.use = true}, "DNS resolution failed for host:1"), "");
}

}  // namespace
}  // namespace castscope
