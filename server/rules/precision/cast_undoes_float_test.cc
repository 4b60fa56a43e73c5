#include <gmock/gmock.h>

#include "server/rules/testing/rules_test.h"

namespace castscope::rules::cast_undoes_float {
namespace {

using CastUndoesFloatTest = RulesTest;

struct Uses {
  std::uint32_t first = 0, up = 0;
};
// Adds layer(x).float(), in the region last defined.
Uses brought_up(TestRun& run, std::int64_t line) {
  const auto first = run.use({.op = "aten::linear",
                              .line = 7,
                              .operands = {operand(kFloat32, Role::kInput), operand(kFloat32, Role::kWeight)},
                              .computed = kBFloat16,
                              .flags = lanes::kUseEligible});
  const auto up = run.use({.op = "aten::to.dtype",
                           .line = line,
                           .operands = {operand(kBFloat16)},
                           .computed = kFloat32,
                           .flags = lanes::kUseConverts});
  run.called(first, 3).called(up, 3).flowed(run.flow(first, up), 3);
  return {first, up};
}

std::uint32_t linear(TestRun& run, std::int64_t line) {
  return run.use({.op = "aten::linear",
                  .line = line,
                  .operands = {operand(kFloat32), operand(kFloat32, Role::kWeight)},
                  .computed = kBFloat16,
                  .flags = lanes::kUseEligible});
}

TEST_F(CastUndoesFloatTest, FloatThenALinear) {
  expect_golden("cast_undoes_float_float_before_linear", judged([](TestRun& run) {
                  const auto region = run.region("train.py", 5);
                  run.enter(region).deep();
                  const Uses uses = brought_up(run, 8);
                  const auto head = linear(run, 9);
                  run.called(head, 3).flowed(run.flow(uses.up, head, 0, kBFloat16), 3).exit();
                }));
}

// The conversion was made for castscope.float_function, or for a policy's rule.
TEST_F(CastUndoesFloatTest, AnAnnotationBringsItUp) {
  const auto found = judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    run.enter(region).deep();
    const Uses uses = brought_up(run, 8);
    const auto head = linear(run, 9);
    run.called(head, 3).flowed(run.flow(uses.up, head, 0, kBFloat16), 3).exit();
    run.cast(run.site({.stack = run.line("train.py", 8),
                       .op = "net.normalise",
                       .cause = lanes::Cause::kAnnotation,
                       .from = kBFloat16,
                       .to = kFloat32}),
             kWeight);
  });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].evidence_text, testing::Contains(testing::Pair("annotated_function", "net.normalise")));
}

TEST_F(CastUndoesFloatTest, ThenAnOperatorInFloat32) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    run.enter(region).deep();
    const Uses uses = brought_up(run, 8);
    const auto loss = run.use({.op = "aten::mse_loss",
                               .line = 9,
                               .operands = {operand(kFloat32), operand(kFloat32, Role::kInput)},
                               .flags = lanes::kUseEligible | lanes::kUseReduces});
    run.called(loss, 3).flowed(run.flow(uses.up, loss), 3).exit();
  }));
}

TEST_F(CastUndoesFloatTest, AValueThatALossTakesTooIsInFloat32ForThat) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    run.enter(region).deep();
    const Uses uses = brought_up(run, 8);
    const auto head = linear(run, 9);
    const auto loss = run.use({.op = "aten::mse_loss",
                               .line = 10,
                               .operands = {operand(kFloat32), operand(kFloat32, Role::kInput)},
                               .flags = lanes::kUseEligible | lanes::kUseReduces});
    run.called(head, 3).called(loss, 3).flowed(run.flow(uses.up, loss), 3);
    run.flowed(run.flow(uses.up, head, 0, kBFloat16), 3).exit();
  }));
}

TEST_F(CastUndoesFloatTest, DataBroughtUpOutsideTheRegion) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto up = run.use({.op = "aten::to.dtype",
                             .line = 4,
                             .operands = {operand(kFloat16, Role::kInput)},
                             .computed = kFloat32,
                             .flags = lanes::kUseConverts,
                             .phase = lanes::Phase::kOther,
                             .outside = true});
    const auto head = linear(run, 9);
    run.deep().called(up).enter(region).called(head).flowed(run.flow(up, head, 0, kBFloat16)).exit();
  }));
}

TEST_F(CastUndoesFloatTest, TheRegionIsOpenOnlyBecauseItLeaked) {
  expect_none_of("cast-undoes-float", judged([](TestRun& run) {
                   const auto region = run.region("train.py", 5);
                   run.enter(region).deep();
                   const Uses uses = brought_up(run, 8);
                   const auto head = linear(run, 20);
                   const auto leaked =
                       run.fact(FactKind::kRegionLeaked, 20, {.subject = region, .text = "aten::linear"});
                   run.called(head, 3).flowed(run.flow(uses.up, head, 0, kBFloat16), 3).exit().seen(leaked);
                 }));
}

}  // namespace
}  // namespace castscope::rules::cast_undoes_float
