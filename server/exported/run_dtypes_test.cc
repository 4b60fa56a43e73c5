#include "server/exported/run_dtypes.h"

#include <gmock/gmock.h>

#include <map>

#include "server/exported/testing/test_program.h"

namespace castscope::exported {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// A walk, together with the program that it points into.
struct Walked {
  explicit Walked(const TestGraph& graph, const std::vector<std::string>& weights = {})
      : program(program_of(graph, weights)), walk(exported::walk(program)) {}
  std::map<std::string, Dtype> runs() const {  // dtypes that the computing operators give
    std::map<std::string, Dtype> all;
    for (const Step& step : walk.steps) {
      if (!step.casts) all[step.node->outputs.front()] = step.runs.dtype;
    }
    return all;
  }
  std::vector<std::string> lost() const {
    std::vector<std::string> all;
    for (const Step& step : walk.steps) {
      if (step.lost) all.push_back(step.node->outputs.front());
    }
    return all;
  }
  Program program;
  Walk walk;
};

constexpr Dtype k16 = Dtype::kFloat16, k32 = Dtype::kFloat32, kB16 = Dtype::kBFloat16;

TestGraph inputs() { return TestGraph().input("x", kF32).input("w", kF32); }
TestGraph halves() { return TestGraph().input("x", kBF16).input("w", kBF16); }

TEST(RunDtypesTest, WithoutAutocastAllIsAsRecorded) {
  const Walked walked(inputs()
                          .op("aten.linear.default", {"x", "w"}, "linear", kF32)
                          .op("aten.softmax.int", {"linear"}, "softmax", kF32));
  EXPECT_THAT(walked.runs(), UnorderedElementsAre(Pair("linear", k32), Pair("softmax", k32)));
  EXPECT_THAT(walked.lost(), IsEmpty());
  EXPECT_THAT(walked.walk.stops, IsEmpty());
}

TEST(RunDtypesTest, ALostRegionsOperatorsRunInWhatTheyGet) {
  const Walked walked(dropped());
  EXPECT_THAT(walked.lost(), ElementsAre("linear"));
  EXPECT_THAT(walked.runs(), UnorderedElementsAre(Pair("linear", k32), Pair("gelu", k32), Pair("add", k32)));
  EXPECT_EQ(walked.walk.steps[1].runs.why, Why::kRegionLost);
  EXPECT_EQ(walked.walk.steps[2].runs.why, Why::kNone);
}

TEST(RunDtypesTest, AModelOfHalvesLosesWhatAutocastKeptInFloat32) {
  const Walked walked(halves()
                          .op("aten.cdist.default", {"x", "w"}, "cdist", kF32)
                          .op("aten.linear.default", {"x", "w"}, "linear", kBF16));
  EXPECT_THAT(walked.lost(), ElementsAre("cdist"));
  EXPECT_THAT(walked.runs(), UnorderedElementsAre(Pair("cdist", kB16), Pair("linear", kB16)));
}

TEST(RunDtypesTest, AModelOfOneHalfInARegionOfTheOther) {
  const Walked walked(halves().op("aten.mm.default", {"x", "w"}, "mm", kF16));
  EXPECT_THAT(walked.lost(), ElementsAre("mm"));
  EXPECT_THAT(walked.runs(), UnorderedElementsAre(Pair("mm", kB16)));
}

TEST(RunDtypesTest, WhatIsToldADtypeLosesNothing) {
  EXPECT_THAT(Walked(inputs().op("aten.mm.dtype", {"x", "w"}, "mm", kBF16).dtype_argument(kBF16)).lost(), IsEmpty());
  EXPECT_THAT(Walked(inputs().op("aten.sum.default", {"x"}, "sum", kBF16).dtype_argument(kBF16)).lost(), IsEmpty());
  EXPECT_THAT(Walked(inputs().op("aten.to.dtype", {"x"}, "to", kBF16).dtype_argument(kBF16)).lost(), IsEmpty());
  EXPECT_THAT(Walked(inputs().op("aten.zeros_like.default", {"x"}, "zeros", kBF16).dtype_argument(kBF16)).lost(),
              IsEmpty());
}

TEST(RunDtypesTest, OperatorsThatAreNotPyTorchsMayGiveWhatTheyLike) {
  EXPECT_THAT(Walked(inputs().op("mine.quantized_linear.default", {"x", "w"}, "y", kBF16)).lost(), IsEmpty());
  EXPECT_THAT(Walked(inputs().op("aten.copy_.default", {"x", "w"}, "y", kBF16)).lost(), IsEmpty());
}

TEST(RunDtypesTest, ARegionThatIsKeptCasts) {
  const Walked walked(inputs()
                          .region("cpu", kBF16, true,
                                  inputs()
                                      .op("aten.linear.default", {"x", "w"}, "linear", kBF16, 12)
                                      .op("aten.cdist.default", {"linear", "w"}, "cdist", kF32, 13)
                                      .gives("linear"),
                                  {"x", "w"}, "out", kBF16)
                          .op("aten.gelu.default", {"out"}, "gelu", kBF16));
  EXPECT_THAT(walked.lost(), IsEmpty());
  EXPECT_THAT(walked.runs(), UnorderedElementsAre(Pair("linear", kB16), Pair("cdist", k32), Pair("gelu", kB16)));
  ASSERT_EQ(walked.walk.regions.size(), 1u);
  const Region& region = walked.walk.regions[0];
  EXPECT_EQ(region.operators, 2u);
  EXPECT_EQ(region.first->at.line, 12);
  EXPECT_EQ(region.last->at.line, 13);
}

// torch.export with strict=True records the operators of a region as if there were no region.
TEST(RunDtypesTest, ARegionCastsWhateverWasRecorded) {
  const Walked walked(inputs()
                          .region("cpu", kF16, true, inputs().op("aten.mm.default", {"x", "w"}, "mm", kF32).gives("mm"),
                                  {"x", "w"}, "out", kF32)
                          .check("out", kF32, 15));
  EXPECT_THAT(walked.runs(), UnorderedElementsAre(Pair("mm", k16)));
  ASSERT_EQ(walked.walk.stops.size(), 1u);
  EXPECT_EQ(walked.walk.stops[0].wanted, k32);
  EXPECT_EQ(walked.walk.stops[0].given, k16);
  EXPECT_EQ(walked.walk.stops[0].why, Why::kRegionKept);
}

TEST(RunDtypesTest, RegionsWithinRegions) {
  const auto mm = [] { return inputs().op("aten.mm.default", {"x", "w"}, "mm", kF32).gives("mm"); };
  const auto off = inputs().region("cpu", nullptr, false, mm(), {"x", "w"}, "inner", kF32).gives("inner");
  EXPECT_THAT(Walked(inputs().region("cpu", kBF16, true, off, {"x", "w"}, "out", kF32)).runs(),
              UnorderedElementsAre(Pair("mm", k32)));
  // A region without a dtype of its own has that of the region around it; the outermost has the device's default.
  const auto same = inputs().region("cpu", nullptr, true, mm(), {"x", "w"}, "inner", kF32).gives("inner");
  EXPECT_THAT(Walked(inputs().region("cpu", kF16, true, same, {"x", "w"}, "out", kF32)).runs(),
              UnorderedElementsAre(Pair("mm", k16)));
  const Walked alone(same);
  EXPECT_THAT(alone.runs(), UnorderedElementsAre(Pair("mm", kB16)));
  EXPECT_EQ(alone.walk.regions[0].within, std::nullopt);
  // A region of another device has no effect.
  EXPECT_THAT(Walked(inputs().region("cuda", kF16, true, mm(), {"x", "w"}, "out", kF32)).runs(),
              UnorderedElementsAre(Pair("mm", k32)));
}

TEST(RunDtypesTest, AProgramStopsWhereItChecksForWhatIsLost) {
  const Walked walked(dropped().check("linear", kBF16, 20).check("add", kF32, 21));
  ASSERT_EQ(walked.walk.stops.size(), 1u);
  EXPECT_EQ(walked.walk.stops[0].node->place->at.line, 20);
  EXPECT_EQ(walked.walk.stops[0].why, Why::kRegionLost);
}

TEST(RunDtypesTest, AProductOfTwoDtypesStops) {
  const Walked walked(inputs()
                          .op("aten.to.dtype", {"x"}, "to", kBF16)
                          .dtype_argument(kBF16)
                          .op("aten.linear.default", {"to", "w"}, "linear", kBF16, 9));
  EXPECT_THAT(walked.lost(), ElementsAre("linear"));
  ASSERT_EQ(walked.walk.stops.size(), 1u);
  EXPECT_FALSE(walked.walk.stops[0].is_check);
  EXPECT_EQ(walked.walk.stops[0].why, Why::kRegionLost);
}

TEST(RunDtypesTest, NothingIsSaidOfWhatIsNotSure) {
  // Nobody knows whether an operator of another library follows its argument.
  const Walked walked(dropped().op("mine.norm.default", {"gelu"}, "norm", kBF16).check("norm", kBF16));
  EXPECT_THAT(walked.walk.stops, IsEmpty());
}

TEST(RunDtypesTest, CastsAreTold) {
  const Walked walked(inputs()
                          .op("aten._to_copy.default", {"w"}, "w16", kBF16)
                          .dtype_argument(kBF16)
                          .op("aten.to.dtype", {"x"}, "same", kF32)
                          .dtype_argument(kF32),
                      {"w"});
  ASSERT_EQ(walked.walk.steps.size(), 1u);
  EXPECT_TRUE(walked.walk.steps[0].casts);
  EXPECT_TRUE(walked.walk.steps[0].of_weight);
  EXPECT_EQ(walked.walk.steps[0].from, k32);
  EXPECT_EQ(walked.walk.steps[0].runs.dtype, kB16);
}

TEST(RunDtypesTest, NamesThatNameNothingDoNoHarm) {
  Json json = program_json(dropped());
  json["graph_module"]["graph"]["nodes"][1]["inputs"][0]["arg"] = tensor_argument("nothing");
  json["graph_module"]["graph"]["nodes"][2]["outputs"] = {tensor_argument("nobody")};
  json["graph_module"]["graph"]["outputs"] = {tensor_argument("none")};
  const auto program = read_program(json.dump(), "model");
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_LE(walk(*program).steps.size(), 2u);
}

}  // namespace
}  // namespace castscope::exported
