// What a collector is sent (server/ingest): messages of the wire one after the other, each with its length (2 bytes)
// before it, of any relays and runs. gRPC has no part in this.
#include <map>
#include <memory>
#include <string>

#include "proto/castscope/v1/castscope.pb.h"
#include "server/ingest/run/run_table.h"
#include "server/utf8/utf8.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/checking_sink.h"
#include "tests/fuzz/fuzzer.h"

namespace castscope::fuzz {
namespace {

class FuzzedCollector {
 public:
  FuzzedCollector()
      : runs_({.open = [this](const ingest::RunOpening& opening) { return open(opening); },
               .close = [](const std::string&, const ingest::RunClosing&) {}}) {}

  void take(const v1::RelayMessage& message) {
    ingest::Run::Reply reply;
    absl::Status status;
    if (message.has_hello()) return greet(message.hello());
    if (run_ == nullptr) return;
    if (message.has_batch()) status = run_->apply(stream_, message.batch(), &reply);
    if (message.has_goodbye()) status = run_->goodbye(stream_, message.goodbye(), &reply);
    if (message.has_ask()) status = run_->ask(stream_, &reply);
    CASTSCOPE_PROMISE(status.ok(), "a run whose sink takes everything can be kept");
    check(reply);
    if (!reply.out_of_order.empty()) leave();
  }
  void leave() {
    if (run_ != nullptr) run_->detach(stream_, ingest::Run::Clock::now());
    run_ = nullptr;
  }

 private:
  void greet(const v1::Hello& hello) {
    leave();
    const auto opening = ingest::check_hello(hello);
    CASTSCOPE_PROMISE(opening.ok() || !opening.status().message().empty(), "a hello is refused with a sentence");
    if (!opening.ok()) return;
    check(*opening);
    ingest::Run::Reply reply;
    run_ = runs_.find_or_add(*opening);
    stream_ = {.relay = hello.relay()};
    const absl::Status attached = run_->attach(*opening, &stream_, hello.acknowledged(), &reply);
    check(reply);
    if (!attached.ok() || !reply.out_of_order.empty()) leave();
  }
  static void check(const ingest::RunOpening& opening) {
    const bool safe = opening.id != "." && opening.id != ".." && !opening.id.empty() && opening.id.size() <= 128 &&
                      opening.id.find('/') == std::string::npos;
    CASTSCOPE_PROMISE(safe, "the id of a run can be part of a file's name");
    CASTSCOPE_PROMISE(opening.begin_realtime_ns >= 0, "a run begins after 1970");
    for (const std::string& text : {opening.name, opening.cwd, opening.host, opening.checkout})
      CASTSCOPE_PROMISE(utf8::repaired(text) == text, "texts of a run are in UTF-8");
  }
  static void check(const ingest::Run::Reply& reply) {
    for (const v1::Rejection& rejection : reply.rejections)
      CASTSCOPE_PROMISE(!rejection.sentence().empty(), "a rejection has a sentence");
  }
  absl::StatusOr<std::shared_ptr<store::RunSink>> open(const ingest::RunOpening& opening) {
    auto& sink = sinks_[opening.id];  // what the run's file would know
    if (sink == nullptr) sink = std::make_shared<CheckingSink>();
    return sink;
  }

  std::map<std::string, std::shared_ptr<CheckingSink>> sinks_;
  ingest::RunTable runs_;
  std::shared_ptr<ingest::Run> run_;
  ingest::Run::Stream stream_;
};

}  // namespace

CASTSCOPE_FUZZER(relay_messages, 3000, 8192) {
  Bytes bytes(input);
  FuzzedCollector collector;
  v1::RelayMessage message;
  while (!bytes.empty()) {
    const std::string_view one = bytes.long_text();
    if (message.ParseFromArray(one.data(), static_cast<int>(one.size()))) collector.take(message);
  }
  collector.leave();
}

}  // namespace castscope::fuzz
