// How a stream begins and why it ends: protocol versions, and the status that says the same as the refusal.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "proto/batch_checksum.h"
#include "proto/castscope/v1/castscope.grpc.pb.h"
#include "proto/protocol.h"
#include "server/ingest/server.h"
#include "server/ingest/testing/recording_sink.h"
#include "server/relay/relay.h"
#include "server/relay/sending/connect.h"
#include "tests/integration/one_token.h"
#include "tests/integration/wire_job.h"

namespace castscope {
namespace {

using namespace std::chrono_literals;
using grpc::StatusCode;
using testing::HasSubstr;

struct Answer {
  std::vector<v1::CollectorMessage> messages;
  grpc::Status status;
  const v1::CollectorMessage& last() const { return messages.back(); }
};

class HandshakeTest : public testing::Test {
 protected:
  void collect(ingest::Options options = {}) {
    options.version = "1.2.3";
    options.address = "127.0.0.1:0";  // within one process a message is not sent before the one before it was read
    auto server = ingest::Server::start(
        options, {.open = [this](const ingest::RunOpening&) -> absl::StatusOr<std::shared_ptr<store::RunSink>> {
                    if (!can_open_.ok()) return can_open_;
                    return sink_;
                  },
                  .close = [](const std::string&, const ingest::RunClosing&) {}});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  // Sends these messages over one stream and reads it to its end.
  Answer say(const std::vector<v1::RelayMessage>& messages) {
    if (server_ == nullptr) collect();
    const auto channel = relay::connect(server_->address());
    EXPECT_TRUE(channel.ok()) << channel.status();
    auto stub = v1::Collector::NewStub(*channel);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + 30s);
    auto stream = stub->Stream(&context);
    for (const v1::RelayMessage& message : messages)
      if (!stream->Write(message)) break;
    stream->WritesDone();
    Answer answer;
    for (v1::CollectorMessage message; stream->Read(&message);) answer.messages.push_back(message);
    answer.status = stream->Finish();
    return answer;
  }
  static v1::RelayMessage hello(std::uint32_t lowest = wire::kProtocol, std::uint32_t highest = 0) {
    v1::RelayMessage message;
    v1::Hello& hello = *message.mutable_hello();
    hello.set_lowest_protocol(lowest);
    hello.set_highest_protocol(highest);
    hello.set_castscope_version("9.0");
    hello.set_run_id("run");
    hello.set_relay("r");
    return message;
  }
  static v1::RelayMessage batch(std::uint64_t sequence) {
    v1::RelayMessage message;
    message.mutable_batch()->set_sequence(sequence);
    message.mutable_batch()->set_process_key("host/1/1/0");
    message.mutable_batch()->mutable_process_begin()->set_pid(1);
    message.mutable_batch()->set_flush(true);
    return message;
  }
  // The refusal, and the status with the same sentence.
  void expect_refused(const Answer& answer, v1::RefusalReason reason, StatusCode code, const std::string& sentence) {
    ASSERT_FALSE(answer.messages.empty());
    EXPECT_EQ(answer.last().refusal().refusal_reason(), reason);
    EXPECT_THAT(answer.last().refusal().sentence(), HasSubstr(sentence));
    EXPECT_EQ(answer.status.error_code(), code) << answer.status.error_message();
    EXPECT_EQ(answer.status.error_message(), answer.last().refusal().sentence());
  }

  std::shared_ptr<ingest::RecordingSink> sink_ = std::make_shared<ingest::RecordingSink>();
  absl::Status can_open_;
  std::unique_ptr<ingest::Server> server_;
};

TEST_F(HandshakeTest, TheHighestProtocolThatBothSpeakIsChosen) {
  const struct {
    std::uint32_t lowest, highest, chosen;
  } cases[] = {{wire::kProtocol, 0, wire::kProtocol},
               {wire::kOldestProtocol, 0, wire::kOldestProtocol},
               {wire::kOldestProtocol, wire::kProtocol, wire::kProtocol},
               {1, 100, wire::kProtocol},
               {1, wire::kOldestProtocol, wire::kOldestProtocol}};
  for (const auto& [lowest, highest, chosen] : cases) {
    const Answer answer = say({hello(lowest, highest)});
    ASSERT_EQ(answer.messages.size(), 1u) << lowest << " to " << highest;
    EXPECT_EQ(answer.last().welcome().protocol(), chosen);
    EXPECT_EQ(answer.last().welcome().castscope_version(), "1.2.3");
    EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
  }
}

TEST_F(HandshakeTest, WithoutACommonProtocolTheSentenceHasBothRanges) {
  expect_refused(
      say({hello(wire::kProtocol + 1, wire::kProtocol + 3)}), v1::REFUSAL_REASON_PROTOCOL,
      StatusCode::FAILED_PRECONDITION,
      "the collector speaks castscope protocols 6 to 7, the relay (castscope \"9.0\") protocols 8 to 10: use the "
      "same castscope on both sides, or a client of a protocol that this collector speaks");
  expect_refused(say({hello(5)}), v1::REFUSAL_REASON_PROTOCOL, StatusCode::FAILED_PRECONDITION,
                 "the relay (castscope \"9.0\") protocol 5");
  expect_refused(say({hello(8, 3)}), v1::REFUSAL_REASON_PROTOCOL, StatusCode::FAILED_PRECONDITION, "protocol 8:");
}

TEST_F(HandshakeTest, AHelloWhoseVersionsAreTurnedRoundMakesNoSense) {
  expect_refused(say({hello(wire::kProtocol, wire::kOldestProtocol)}), v1::REFUSAL_REASON_HELLO,
                 StatusCode::INVALID_ARGUMENT, "the hello says 6 for the highest protocol, and 7 for the lowest");
}

TEST_F(HandshakeTest, AFirstMessageThatIsNoHelloIsNoOtherProtocol) {
  expect_refused(say({batch(1)}), v1::REFUSAL_REASON_HELLO, StatusCode::INVALID_ARGUMENT,
                 "the first message of a stream must be a hello, and this one is not");
}

TEST_F(HandshakeTest, AHelloThatMakesNoSenseIsAnInvalidArgument) {
  v1::RelayMessage message = hello();
  message.mutable_hello()->set_run_id("../run");
  expect_refused(say({message}), v1::REFUSAL_REASON_HELLO, StatusCode::INVALID_ARGUMENT, "the run's id is not made of");
}

TEST_F(HandshakeTest, WithoutTheTokenNobodyIsAuthenticated) {
  collect({.door = one_token()});
  v1::RelayMessage in_hello = hello();  // as it came once
  in_hello.mutable_hello()->set_token("secret");
  expect_refused(say({in_hello}), v1::REFUSAL_REASON_TOKEN, StatusCode::UNAUTHENTICATED, "was given none");
  expect_refused(say({hello()}), v1::REFUSAL_REASON_TOKEN, StatusCode::UNAUTHENTICATED, "set CASTSCOPE_TOKEN");
}

TEST_F(HandshakeTest, WhatMayNotComeIsAFailedPrecondition) {
  expect_refused(say({hello(), hello()}), v1::REFUSAL_REASON_ORDER, StatusCode::FAILED_PRECONDITION,
                 "a second hello came in one stream");
  const Answer gap = say({hello(), batch(1), batch(3)});
  expect_refused(gap, v1::REFUSAL_REASON_ORDER, StatusCode::FAILED_PRECONDITION,
                 "relay r sent message 3 where message 2 was due");
  ASSERT_EQ(gap.messages.size(), 3u);
  EXPECT_EQ(gap.messages[1].ack().sequence(), 1u);
}

TEST_F(HandshakeTest, AMessageOfAnUnknownKindIsAnInvalidArgument) {
  expect_refused(say({hello(), v1::RelayMessage()}), v1::REFUSAL_REASON_ORDER, StatusCode::INVALID_ARGUMENT,
                 "a message came that this protocol version does not have");
}

// Without a refusal: who is refused gives up, and who is told that the run cannot be kept now comes back.
TEST_F(HandshakeTest, WhatPassesIsUnavailable) {
  for (const absl::Status& trouble :
       {absl::ResourceExhaustedError("the disk is full"), absl::UnavailableError("another castscope writes the file"),
        absl::PermissionDeniedError("run.castscope cannot be created"), absl::AbortedError("the file was moved")}) {
    can_open_ = trouble;
    const Answer answer = say({hello()});
    EXPECT_THAT(answer.messages, testing::IsEmpty());
    EXPECT_EQ(answer.status.error_code(), StatusCode::UNAVAILABLE);
    EXPECT_EQ(answer.status.error_message(), trouble.message());
  }
  can_open_ = absl::OkStatus();
  sink_->next_commit = absl::ResourceExhaustedError("the disk is full");
  const Answer answer = say({hello(), batch(1)});
  EXPECT_EQ(answer.status.error_code(), StatusCode::UNAVAILABLE);
  sink_->next_commit = absl::OkStatus();
  EXPECT_EQ(say({hello(), batch(1)}).last().ack().sequence(), 1u);
}

TEST_F(HandshakeTest, ABatchThatArrivedDamagedIsToBeSentAgain) {
  v1::RelayMessage damaged = batch(1);
  damaged.mutable_batch()->set_checksum(wire::checksum_of(damaged.batch()));
  const v1::RelayMessage whole = damaged;
  damaged.mutable_batch()->mutable_process_begin()->set_pid(5);
  const Answer answer = say({hello(), damaged});
  EXPECT_EQ(answer.status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_THAT(answer.status.error_message(), HasSubstr("arrived damaged"));
  EXPECT_THAT(sink_->processes, testing::IsEmpty());
  EXPECT_EQ(say({hello(), whole}).last().ack().sequence(), 1u);
}

TEST_F(HandshakeTest, WhatDoesNotPassIsRefused) {
  can_open_ = absl::DataLossError("run.castscope is damaged");
  expect_refused(say({hello()}), v1::REFUSAL_REASON_STORE, StatusCode::INTERNAL, "run.castscope is damaged");
}

TEST_F(HandshakeTest, ALongSentenceDoesNotGetLostInTheStatus) {
  std::string dashes;
  for (int i = 0; i < 4000; ++i) dashes += "–";  // nine bytes each in the header
  can_open_ = absl::InternalError(dashes);
  const Answer answer = say({hello()});
  EXPECT_EQ(answer.last().refusal().sentence(), dashes);
  EXPECT_EQ(answer.status.error_code(), StatusCode::INTERNAL);
  EXPECT_EQ(answer.status.error_message(), dashes.substr(0, 1998));
}

// ---- a collector of protocol 6 knows no range, and ends every stream with OK

class OldCollector final : public v1::Collector::Service {
 public:
  explicit OldCollector(std::uint32_t protocol) : protocol_(protocol) {
    grpc::ServerBuilder builder;
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~OldCollector() override {
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
  }
  std::shared_ptr<grpc::Channel> channel() { return server_->InProcessChannel({}); }

  grpc::Status Stream(grpc::ServerContext*,
                      grpc::ServerReaderWriter<v1::CollectorMessage, v1::RelayMessage>* stream) override {
    v1::RelayMessage message;
    if (!stream->Read(&message)) return grpc::Status::OK;
    v1::CollectorMessage answer;
    if (message.hello().lowest_protocol() != protocol_) {
      answer.mutable_refusal()->set_refusal_reason(v1::REFUSAL_REASON_PROTOCOL);
      answer.mutable_refusal()->set_sentence("the collector speaks another protocol");
      stream->Write(answer);
      return grpc::Status::OK;
    }
    answer.mutable_welcome()->set_protocol(protocol_);
    stream->Write(answer);
    while (stream->Read(&message)) {
      const std::uint64_t sequence = message.has_goodbye() ? message.goodbye().sequence() : message.batch().sequence();
      answer.mutable_ack()->set_sequence(sequence);
      stream->Write(answer);
    }
    return grpc::Status::OK;
  }

 private:
  const std::uint32_t protocol_;
  std::unique_ptr<grpc::Server> server_;
};

relay::Summary relay_to(OldCollector& collector, const std::string& folder) {
  relay::Relay relay({.run_directory = folder, .run = {.id = "run", .host = "host"}, .channel = collector.channel()});
  EXPECT_TRUE(relay.start().ok());
  return relay.stop({}, 20s);
}

TEST(OldCollectorTest, TakesWhatTheRelaySends) {
  OldCollector collector(wire::kOldestProtocol);
  TemporaryDirectory folder;
  WireJob job(folder.path());
  WireJob::Thread(job).cast();
  const relay::Summary summary = relay_to(collector, folder.path());
  EXPECT_TRUE(summary.delivered) << summary.problem;
}

TEST(OldCollectorTest, ItsRefusalIsTold) {
  OldCollector collector(wire::kOldestProtocol - 1);
  TemporaryDirectory folder;
  WireJob job(folder.path());
  const relay::Summary summary = relay_to(collector, folder.path());
  EXPECT_FALSE(summary.delivered);
  EXPECT_EQ(summary.problem, "the collector speaks another protocol");
}

}  // namespace
}  // namespace castscope
