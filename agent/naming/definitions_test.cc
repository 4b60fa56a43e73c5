// Each definition is numbered once, and is written before its number is used.
#include "agent/naming/definitions.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "agent/lanes/segment_reader.h"

namespace castscope::agent {
namespace {

class DefinitionsTest : public testing::Test {
 protected:
  DefinitionsTest() : folder_(testing::TempDir() + "definitions-" + std::to_string(getpid())) {
    std::filesystem::create_directories(folder_);
    std::string error;
    lanes::SegmentWriter::Options options;
    options.directory = folder_;
    options.ring_events = 256;
    segment_.reset(lanes::SegmentWriter::create(options, &error));
    definitions_ = std::make_unique<Definitions>(api_, *segment_);
  }
  ~DefinitionsTest() override { std::filesystem::remove_all(folder_); }

  // Kind and number of every record, in the order written.
  std::vector<std::pair<lanes::DefinitionKind, std::uint32_t>> written() {
    std::unique_ptr<lanes::SegmentReader> reader;
    std::string error, records;
    EXPECT_EQ(lanes::SegmentReader::open(segment_->path(), &reader, &error), lanes::SegmentReader::Outcome::kOpen);
    while (reader->definitions(1 << 16, &records)) {
    }
    std::vector<std::pair<lanes::DefinitionKind, std::uint32_t>> result;
    for (std::size_t at = 0; at < records.size();) {
      lanes::DefinitionHeader h;
      std::memcpy(&h, records.data() + at, sizeof h);
      result.emplace_back(h.kind, h.id);
      at += h.size;
    }
    return result;
  }

  PythonApi api_{};
  std::string folder_;
  std::unique_ptr<lanes::SegmentWriter> segment_;
  std::unique_ptr<Definitions> definitions_;
};

TEST_F(DefinitionsTest, TheSameIsSaidOnce) {
  EXPECT_EQ(definitions_->op("aten::linear"), definitions_->op("aten::linear"));
  EXPECT_NE(definitions_->op("aten::linear"), definitions_->op("aten::mm"));
  EXPECT_EQ(written().size(), 4u);  // two strings, two operators
}

TEST_F(DefinitionsTest, NothingHasNoNumber) {
  EXPECT_EQ(definitions_->string(""), 0u);
  EXPECT_EQ(definitions_->op(""), 0u);
  EXPECT_EQ(definitions_->stack(MayWait::no_lock_held(), RawStack{}), 0u);
  EXPECT_TRUE(written().empty());
}

TEST_F(DefinitionsTest, AStringStandsBeforeWhatUsesIt) {
  definitions_->module("encoder.0", "Linear", "Net", 1);
  const auto records = written();
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(records.back().first, lanes::DefinitionKind::kModule);
}

TEST_F(DefinitionsTest, ACallSiteMayBeSaidAgain) {
  const std::uint32_t id = definitions_->new_call_site({definitions_->op("aten::mm"), lanes::kUnknownArgument, 0, 0});
  definitions_->update_call_site(id, {definitions_->op("aten::mm"), 1, definitions_->string("mat2"), 0});
  std::uint32_t times = 0;
  for (const auto& [kind, number] : written())
    times += kind == lanes::DefinitionKind::kCallSite && number == id ? 1 : 0;
  EXPECT_EQ(times, 2u);
}

TEST_F(DefinitionsTest, SitesThatDifferInOneFieldAreTwo) {
  lanes::SiteDefinition site{};
  site.cause = lanes::Cause::kAutocast;
  std::set<std::uint32_t> ids{definitions_->site(site)};
  site.why = lanes::WhyNotCached::kView;
  ids.insert(definitions_->site(site));
  site.phase = lanes::Phase::kBackward;
  ids.insert(definitions_->site(site));
  EXPECT_EQ(ids.size(), 3u);
}

TEST_F(DefinitionsTest, WhatIsCountedHasOneSeriesOfNumbers) {
  const lanes::Operand operands[2] = {{0, 6, lanes::Role::kInput, 0}, {1, 6, lanes::Role::kWeight, 0}};
  const lanes::Operand others[2] = {operands[0], {1, 15, lanes::Role::kWeight, 0}};
  lanes::OperatorUseDefinition use{};
  use.operands = 2;
  const std::uint32_t first = definitions_->operator_use(use, operands);
  const std::uint32_t site = definitions_->site({});
  const std::uint32_t second = definitions_->operator_use(use, others);
  const std::uint32_t flow = definitions_->seen(lanes::FlowDefinition{first, second, 0, 0xff, {}});
  const std::uint32_t fact = definitions_->seen(lanes::FactDefinition{lanes::FactKind::kStaleHit, 2, site, 0, 0});
  EXPECT_EQ((std::set<std::uint32_t>{first, site, second, flow, fact}), (std::set<std::uint32_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(definitions_->operator_use(use, operands), first);
  EXPECT_EQ(definitions_->seen(lanes::FlowDefinition{first, second, 0, 0xff, {}}), flow);
  EXPECT_EQ(definitions_->seen(lanes::FactDefinition{lanes::FactKind::kStaleHit, 2, site, 0, 0}), fact);
  EXPECT_EQ(written().size(), 5u);
  EXPECT_EQ(definitions_->places(), 1u) << "uses, flows and facts do not change what a step does";
}

}  // namespace
}  // namespace castscope::agent
