// For tests of the table of runs: a run whose sink is remembered, and what relays say to it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/ingest/run/run_table.h"
#include "server/ingest/testing/batch_builder.h"
#include "server/ingest/testing/recording_sink.h"

namespace castscope::ingest {

class RunTableTest : public testing::Test {
 protected:
  RunKeeper keeper() {
    return {.open = [this](const RunOpening&) -> absl::StatusOr<std::shared_ptr<store::RunSink>> {
              ++opened_;
              if (!can_open_.ok()) return can_open_;
              return sink_;
            },
            .let_in = [this](const RunOpening& run) { let_in_.push_back(run.sender + " by " + run.token); },
            .goes_on = [this](const std::string&) { ++gone_on_; },
            .give_up = [this](const std::string&, const absl::Status&) { ++given_up_; },
            .close = [this](const std::string&, const RunClosing& closing) { closings_.push_back(closing); },
            .watched = [this](const std::string& run) { return run == watched_; },
            .events_wanted = [this](const std::string&) { return wanted_; }};
  }
  ingest::Run& run() { return *table_.find_or_add({.id = "run"}); }
  // The relay's last one.
  ingest::Run::Stream& stream(const std::string& relay) {
    return streams_.try_emplace(relay, ingest::Run::Stream{.relay = relay}).first->second;
  }
  ingest::Run::Reply attach(const std::string& relay, std::optional<std::uint64_t> acknowledged = 0) {
    ingest::Run::Reply reply;
    EXPECT_TRUE(attached(relay, acknowledged, &reply).ok());
    return reply;
  }
  absl::Status attached(const std::string& relay, std::optional<std::uint64_t> acknowledged,
                        ingest::Run::Reply* reply) {
    return run().attach({.id = "run"}, &stream(relay), acknowledged, reply);
  }
  ingest::Run::Reply apply(const std::string& relay, const v1::Batch& batch) {
    ingest::Run::Reply reply;
    EXPECT_TRUE(run().apply(stream(relay), batch, &reply).ok());
    return reply;
  }
  ingest::Run::Reply goodbye(const std::string& relay, std::uint64_t sequence, int exit_status = 0) {
    v1::Goodbye goodbye;
    goodbye.set_sequence(sequence);
    goodbye.set_exit_code(exit_status);
    ingest::Run::Reply reply;
    EXPECT_TRUE(run().goodbye(stream(relay), goodbye, &reply).ok());
    return reply;
  }

  std::shared_ptr<RecordingSink> sink_ = std::make_shared<RecordingSink>();
  absl::Status can_open_;
  int opened_ = 0, gone_on_ = 0, given_up_ = 0;
  std::vector<RunClosing> closings_;
  std::string watched_;  // run
  EventsWanted wanted_;
  std::vector<std::string> let_in_;  // "SENDER by TOKEN"
  std::map<std::string, ingest::Run::Stream> streams_;
  RunTable table_{keeper()};
};

}  // namespace castscope::ingest
