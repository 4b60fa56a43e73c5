#include <gmock/gmock.h>

#include "server/rules/testing/rules_test.h"

namespace castscope::rules::dtype_ping_pong {
namespace {

using DtypePingPongTest = RulesTest;

std::uint32_t linear(TestRun& run, std::uint8_t given, std::uint16_t flags = 0) {
  return run.use({.op = "aten::linear",
                  .line = 8,
                  .operands = {operand(given), operand(kFloat32, Role::kWeight)},
                  .computed = kFloat16,
                  .flags = static_cast<std::uint16_t>(lanes::kUseEligible | flags),
                  .module = "block.linear"});
}
std::uint32_t norm(TestRun& run, std::uint16_t flags = 0) {  // as on a GPU, where autocast runs it in float32
  return run.use({.op = "aten::layer_norm",
                  .line = 7,
                  .operands = {operand(kFloat16), operand(kFloat32, Role::kWeight)},
                  .computed = kFloat32,
                  .flags = static_cast<std::uint16_t>(lanes::kUseEligible | flags),
                  .module = "block.norm"});
}

TEST_F(DtypePingPongTest, BlocksOfNormAndLinearOnAGpu) {
  expect_golden("dtype_ping_pong_norm_and_linear", judged([](TestRun& run) {
                  const auto region = run.region("train.py", 5);
                  const auto layer = linear(run, kFloat32), between = norm(run);
                  run.enter(region).deep().called(layer, 4).called(between, 4);
                  run.flowed(run.flow(layer, between, 0, kFloat32), 3).flowed(run.flow(between, layer, 0, kFloat16), 4);
                  run.exit().step();
                }));
}

// Its fix must not say to run in low precision what PyTorch has no kernel for.
TEST_F(DtypePingPongTest, AnOperatorWithoutAKernelInLowPrecision) {
  const auto fix_of = [this](const char* op) {
    auto findings = judged([op](TestRun& run) {
      const auto region = run.region("train.py", 5);
      const auto layer = linear(run, kFloat32);
      const auto between = run.use(
          {.op = op, .line = 7, .operands = {operand(kFloat16)}, .computed = kFloat32, .flags = lanes::kUseEligible});
      run.enter(region).deep().called(layer, 4).called(between, 4);
      run.flowed(run.flow(layer, between, 0, kFloat32), 3).flowed(run.flow(between, layer, 0, kFloat16), 4);
      run.exit().step();
    });
    std::erase_if(findings, [](const Finding& finding) { return finding.rule != "dtype-ping-pong"; });
    return findings.empty() ? "" : findings[0].fix;
  };
  EXPECT_THAT(fix_of("aten::cdist"), testing::StartsWith("PyTorch has no kernel of cdist for float16 on cpu"));
  EXPECT_THAT(fix_of("aten::max_pool3d"), testing::StartsWith("If max_pool3d need not be in float32 here"));
}

// Inference: nothing separates steps, and there are many regions.
TEST_F(DtypePingPongTest, OnceInEachOfManyRegions) {
  const auto inference = [](std::uint64_t times) {
    return [times](TestRun& run) {
      const auto region = run.region("generate.py", 5);
      const auto layer = linear(run, kFloat32), between = norm(run);
      run.deep();
      for (int i = 0; i < 4; ++i) {
        run.enter(region).called(layer, times).called(between, times);
        run.flowed(run.flow(layer, between, 0, kFloat32), times).flowed(run.flow(between, layer, 0, kFloat16), times);
        run.exit();
      }
    };
  };
  expect_none_of("dtype-ping-pong", judged(inference(1)));
  EXPECT_THAT(judged(inference(2)), testing::Contains(testing::Field(&Finding::rule, "dtype-ping-pong")));
}

// torch.jit.trace ran a model with one float32 island four times, to record it and to check the trace.
TEST_F(DtypePingPongTest, ATraceAndItsCheckAreNoLoop) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto layer = linear(run, kFloat32, lanes::kUseTracing), between = norm(run, 4096);
    run.enter(region).deep().called(layer, 4).called(between, 4);
    run.flowed(run.flow(layer, between, 0, kFloat32), 4).flowed(run.flow(between, layer, 0, kFloat16), 4);
    run.exit().step();
  }));
}

TEST_F(DtypePingPongTest, LayersOfALoopAreModulesOfTheirOwn) {
  auto findings = judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto between = norm(run);
    run.enter(region).deep().called(between, 4);
    for (const char* path : {"0", "1", "2", "3"}) {
      const auto layer = run.use({.op = "aten::linear",
                                  .line = 8,
                                  .operands = {operand(kFloat32), operand(kFloat32, Role::kWeight)},
                                  .computed = kFloat16,
                                  .flags = lanes::kUseEligible,
                                  .module = path});
      run.called(layer).flowed(run.flow(layer, between, 0, kFloat32)).flowed(run.flow(between, layer, 0, kFloat16));
    }
    run.exit().step();
  });
  std::erase_if(findings, [](const Finding& finding) { return finding.rule != "dtype-ping-pong"; });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].evidence_number[0], std::pair(std::string("round_trips"), std::int64_t{4}));
}

TEST_F(DtypePingPongTest, OneFloat32IslandBeforeTheLoss) {
  expect_none_of("dtype-ping-pong", judged([](TestRun& run) {
                   const auto region = run.region("train.py", 5);
                   const auto layer = linear(run, kFloat32), between = norm(run);
                   const auto loss = run.use({.op = "aten::cross_entropy_loss",
                                              .line = 9,
                                              .operands = {operand(kFloat32)},
                                              .flags = lanes::kUseEligible | lanes::kUseReduces});
                   run.enter(region).deep().called(layer, 4).called(between, 1).called(loss);
                   run.flowed(run.flow(layer, between, 0, kFloat32)).flowed(run.flow(between, loss)).exit().step();
                 }));
}

TEST_F(DtypePingPongTest, OnceInEachOfManySteps) {
  expect_none_of(
      "dtype-ping-pong", judged([](TestRun& run) {
        const auto region = run.region("train.py", 5);
        const auto layer = linear(run, kFloat32), between = norm(run);
        const auto up = run.flow(layer, between, 0, kFloat32), down = run.flow(between, layer, 0, kFloat16);
        for (int i = 0; i < 5; ++i)
          run.enter(region).deep().called(layer).called(between).flowed(up).flowed(down).shallow().exit().step();
      }));
}

TEST_F(DtypePingPongTest, ConversionsThatTheCodeAsksFor) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto layer = linear(run, kFloat16);
    const auto up = run.use({.op = "aten::to.dtype",
                             .line = 7,
                             .operands = {operand(kFloat16)},
                             .computed = kFloat32,
                             .flags = lanes::kUseConverts});
    const auto norm = run.use({.op = "aten::layer_norm",
                               .line = 7,
                               .operands = {operand(kFloat32), operand(kFloat32, Role::kWeight)},
                               .flags = lanes::kUseEligible});
    run.enter(region).deep().called(layer, 4).called(up, 4).called(norm, 4);
    run.flowed(run.flow(layer, up), 4).flowed(run.flow(up, norm), 4);
    run.flowed(run.flow(norm, layer, 0, kFloat16), 4).exit();
  }));
}

}  // namespace
}  // namespace castscope::rules::dtype_ping_pong
