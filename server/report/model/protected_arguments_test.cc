#include "server/report/model/protected_arguments.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace castscope::report {
namespace {

using ::testing::ElementsAre;

constexpr unsigned kFloat = 6, kBrain = 15, kNotCast = lanes::kArrivedNotCast << lanes::kArrivedCastTo;

store::RunData arrived(const std::vector<std::tuple<std::string, unsigned, std::uint64_t>>& facts) {
  store::RunData data;
  for (const auto& [text, detail, times] : facts) {
    store::Fact fact;
    fact.id = store::FactId(data.facts.size() + 1);
    fact.kind = lanes::FactKind::kArgumentArrived;
    fact.detail = static_cast<std::uint16_t>(detail);
    fact.text = text;
    data.facts.push_back(fact);
    store::FactCount count;
    count.fact = fact.id;
    count.times = times;
    data.fact_counts.push_back(count);
  }
  return data;
}

TEST(ProtectedArguments, WhatIsNeverCastTellsWhatWasHeldOff) {
  const unsigned kept = kFloat | lanes::kArrivedKept | kNotCast;
  const auto all = protected_arguments(arrived({{"pool\trois\tfloat", kept | lanes::kArrivedHeldOff, 10},
                                                {"pool\trois\tfloat", kept, 2},
                                                {"pool\trois\tfloat", kept | lanes::kArrivedHeldOff, 1}}));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].times, 13u);
  EXPECT_EQ(all[0].held_off, 11u);
  EXPECT_TRUE(all[0].kept);
}

TEST(ProtectedArguments, ALineForEachDtypeThatArrived) {
  const auto data = arrived({{"pool\trois\tfloat", kFloat | lanes::kArrivedKept | lanes::kArrivedHeldOff | kNotCast, 4},
                             {"pool\tx\tfloat", kBrain | kFloat << lanes::kArrivedCastTo, 4},
                             {"pool\tx\tfloat", kFloat | kNotCast, 1},
                             {"pool\ty\tfloat", kFloat | lanes::kArrivedKept | kNotCast, 2}});
  EXPECT_THAT(protected_lines(data),
              ElementsAre("rois of pool arrived in float32 4 times: never cast, 4 casts held off",
                          "x of pool arrived in float32 1 time: left as it is",
                          "x of pool arrived in bfloat16 4 times: cast to float32",
                          "y of pool arrived in float32 2 times: never cast"));
  const nlohmann::ordered_json json = protected_json(data);
  ASSERT_EQ(json.size(), 4u);
  EXPECT_EQ(json[0]["argument"], "rois");
  EXPECT_EQ(json[0]["given_dtype"], "float32");
  EXPECT_EQ(json[0]["casts_held_off"], 4);
  EXPECT_TRUE(json[0]["to_dtype"].is_null());
  EXPECT_EQ(json[2]["to_dtype"], "float32");
}

TEST(ProtectedArguments, ManyAreToldInTheReportAlone) {
  std::vector<std::tuple<std::string, unsigned, std::uint64_t>> facts;
  for (char name = 'a'; name < 'k'; ++name)
    facts.emplace_back(std::string("f\t") + name + "\tfloat", kFloat | lanes::kArrivedKept | kNotCast, 1);
  EXPECT_EQ(protected_lines(arrived(facts)).size(), 7u);
  EXPECT_EQ(protected_lines(arrived(facts)).back(), "and 4 more in the report");
}

}  // namespace
}  // namespace castscope::report
