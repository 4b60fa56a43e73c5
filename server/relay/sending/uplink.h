// The connection to the collector: introduces the relay, sends the messages of the outbox, brings acknowledgements
// back, and connects again when the connection is lost. Whoever answers may be no collector: a connection that gets
// nowhere, or over which comes what no collector says, is ended from here, and tried again.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "proto/castscope/v1/castscope.grpc.pb.h"
#include "server/relay/sending/outbox.h"

namespace castscope::relay {

class Uplink {
 public:
  using Clock = std::chrono::steady_clock;
  // How long a collector may be without an answer to the hello, or acknowledge nothing of what waits for it.
  static constexpr std::chrono::seconds kPatience{60};

  // `goes_on`: an earlier life of this relay sent messages, and the collector knows up to which number.
  // `read_token` is as in Options.
  Uplink(std::shared_ptr<grpc::Channel> channel, v1::Hello hello, Outbox* outbox, bool goes_on = false,
         std::function<std::string()> read_token = {}, std::chrono::milliseconds patience = kPatience);
  ~Uplink();  // stops

  void start();
  void stop();  // at once, whatever is in progress
  // To be called now and then: ends a connection over which a collector is silent for longer than its patience.
  void look(Clock::time_point now);

  // The collector refuses this relay, and trying again is of no use.
  bool refused() const;
  // It is refused, perhaps for a token that may be replaced or put back: then it is as if the collector were away.
  bool shut_out() const;
  bool ever_connected() const;
  // The collector has answered a hello with its welcome: it may have what was sent then, acknowledged or not.
  bool ever_stood() const;
  // Whether the numbers of messages are those that the collector will see: not before a relay that goes on for another
  // one has learned how far that one was.
  bool knows_numbers() const;
  // Returns "" while connected, otherwise a sentence.
  std::string trouble() const;

 private:
  using Stream = grpc::ClientReaderWriter<v1::RelayMessage, v1::CollectorMessage>;
  void run();
  bool stopping() const;
  bool was_ended_here() const;
  void nap(std::chrono::milliseconds time);
  // A nap that ends when the connection stands again.
  void nap_or_connect(std::chrono::milliseconds time);
  // Serves one connection from hello to its end; returns what to say about it, and whether it was ever established.
  std::string connect_once(bool first, bool* stood);
  bool greet(Stream& stream, std::string* why);
  bool learn_where_to_go_on(Stream& stream);
  void listen(Stream& stream);
  bool take(const v1::CollectorMessage& answer);
  void stand();
  void distrust(const std::string& why);
  void got_on(Clock::time_point now);
  void set_trouble(const std::string& sentence, bool refused = false);
  void set_refused(const v1::Refusal& refusal);
  bool read_token_again();
  bool may_try_another_token();

  const std::shared_ptr<grpc::Channel> channel_;
  v1::Hello hello_;  // its token is replaced between two connections
  Outbox* const outbox_;
  const std::function<std::string()> read_token_;
  bool goes_on_;  // and where the earlier life ended is not known yet
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<grpc::ClientContext> context_;
  bool stopping_ = false, refused_ = false, for_its_token_ = false, ever_connected_ = false, ever_stood_ = false;
  std::string trouble_;
  // Why a connection was ended from here. "" = none was since something was acknowledged.
  std::string distrusted_;
  // Of the present connection: when it last got on, what was acknowledged by then, and whether the hello was answered.
  Clock::time_point got_on_at_{};
  std::uint64_t acknowledged_ = 0;
  bool stands_ = false, ended_here_ = false;
  const std::chrono::milliseconds usual_patience_;
  std::chrono::milliseconds patience_;
  std::atomic<std::uint64_t> sent_ = 0;  // over the present connection
  std::uint64_t answered_ = 0;           // only the listening thread uses it
  std::thread thread_;
};

}  // namespace castscope::relay
