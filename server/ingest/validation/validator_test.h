// For tests of the validator: feeds batches to one whose sink remembers its calls, and looks at the result.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "agent/lanes/event_views.h"
#include "server/ingest/testing/batch_builder.h"
#include "server/ingest/testing/recording_sink.h"
#include "server/ingest/validation/validator.h"

namespace castscope::ingest {

using lanes::DefinitionKind;
using testing::HasSubstr;
using Batch = BatchBuilder;

class ValidatorTest : public testing::Test {
 protected:
  void accept(const v1::Batch& batch) {
    const Verdict verdict = validator_.apply(batch, sink_);
    EXPECT_TRUE(verdict.ok()) << verdict.rejected << verdict.failed;
  }
  std::string reject(const v1::Batch& batch) {
    const Verdict verdict = validator_.apply(batch, sink_);
    EXPECT_TRUE(verdict.failed.ok()) << verdict.failed;
    EXPECT_FALSE(verdict.rejected.ok()) << "was accepted";
    return std::string(verdict.rejected.message());
  }
  // Accepts a batch of which a part makes no sense; returns what the run's file is told of that.
  std::string lose_part_of(const v1::Batch& batch) {
    accept(batch);
    if (sink_.missing.empty()) return "nothing was told";
    EXPECT_EQ(sink_.missing.back().reason, store::IncompleteReason::kPartRejected);
    EXPECT_EQ(sink_.missing.back().process, batch.process_key());
    return sink_.missing.back().sentence;
  }
  void begun() { accept(Batch().begin()); }
  RecordingSink::Lane& lane(std::uint32_t id = 1) { return sink_.only().lanes[id]; }
  std::vector<std::uint64_t> tensors(std::uint32_t id = 1) {
    std::vector<std::uint64_t> all;
    for (const lanes::Event& event : lane(id).events) all.push_back(lanes::EventWords::tensor(event));
    return all;
  }
  std::uint64_t casts(std::uint32_t lane, std::uint32_t site) { return sink_.only().counters[{lane, site}].casts; }

  RecordingSink sink_;
  RunValidator validator_;
};

}  // namespace castscope::ingest
