#include <gmock/gmock.h>

#include "server/rules/testing/rules_test.h"

namespace castscope::rules::op_not_listed {
namespace {

using OpNotListedTest = RulesTest;

// A library's operator whose body is Python code.
store::TestUse custom(std::uint8_t second) {
  return {.op = "mylib::attend",
          .line = 9,
          .operands = {operand(kBFloat16), operand(second, Role::kWeight)},
          .result = kBFloat16};
}

TEST_F(OpNotListedTest, GroupedProductRaises) {
  expect_golden(
      "op_not_listed_grouped_product_raises", judged([](TestRun& run) {
        run.region("train.py", 5);
        const auto use = run.use(
            {.op = "aten::_grouped_mm", .line = 9, .operands = {operand(kBFloat16), operand(kFloat32, Role::kWeight)}});
        run.deep()
            .called(use)
            .seen(run.error(9, "Expected mat_a to be Float32, BFloat16 or Float16 dtype", use))
            .shallow();
      }));
}

TEST_F(OpNotListedTest, BothInTheRegionsDtype) {
  expect_none(judged([](TestRun& run) {
    run.region("train.py", 5);
    const auto use =
        run.use({.op = "aten::_grouped_mm", .line = 9, .operands = {operand(kBFloat16), operand(kBFloat16)}});
    run.deep().called(use).shallow();
  }));
}

TEST_F(OpNotListedTest, AnOperatorOfALibraryTakesTheMixture) {
  expect_golden("op_not_listed_library_operator", judged([](TestRun& run) {
                  run.region("train.py", 5);
                  run.deep().called(run.use(custom(kFloat32)), 3).shallow();
                }));
}

// If it were registered with autocast, its rois would be cast too.
TEST_F(OpNotListedTest, PlacesInAnImageStayInFloat32) {
  auto pool = custom(kFloat32);
  pool.operands[1] = operand(kFloat32, Role::kInput, lanes::kOperandBoxes);
  pool.names = {"input", "rois"};
  const auto findings = judged([&](TestRun& run) {
    run.region("train.py", 5);
    run.deep().called(run.use(pool)).shallow();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_THAT(findings[0].fix, ::testing::StartsWith("Bring the features to float32 before the call (x.float()): "
                                                     "registered with autocast, the operator would have all floating "
                                                     "arguments cast, rois too"));
}

TEST_F(OpNotListedTest, ItsKernelRaises) {
  const auto findings = judged([](TestRun& run) {
    run.region("train.py", 5);
    const auto use = run.use(custom(kFloat32));
    run.deep().seen(run.error(30, "a and b differ", use)).shallow();  // raised in its body
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, "error");
  EXPECT_EQ(findings[0].location->line, 9);
}

TEST_F(OpNotListedTest, AnErrorThatItsBodyCatches) {
  const auto findings = judged([](TestRun& run) {
    run.region("train.py", 5);
    const auto stack = run.line("train.py", 9);
    store::TestUse call = custom(kFloat32);
    call.stack = stack;
    const auto raised = run.use(call), came_back = run.use(call);
    run.deep().called(came_back).seen(run.error(9, "no signature found", raised)).shallow();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, "warning") << "it took the mixture";
}

TEST_F(OpNotListedTest, RegisteredOrOfOneDtypeOrOutside) {
  expect_none(judged([](TestRun& run) {
    run.region("train.py", 5);
    store::TestUse registered = custom(kFloat32), outside = custom(kFloat32);
    registered.flags = lanes::kUseEligible;
    outside.outside = true;
    run.deep().called(run.use(registered)).called(run.use(outside)).called(run.use(custom(kBFloat16))).shallow();
  }));
}

// The region of the operator's device is the one that counts.
TEST_F(OpNotListedTest, ARegionOfAnotherDeviceWithin) {
  const auto findings = judged([](TestRun& run) {
    auto cuda = TestRun::default_region();
    cuda.parent = run.region("train.py", 5);
    cuda.device = 1;
    cuda.dtype = kFloat16;
    run.region("train.py", 6, cuda);
    run.deep().called(run.use(custom(kFloat32))).shallow();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_THAT(findings[0].evidence_text, testing::Contains(testing::Pair("region_dtype", "bfloat16")));
}

// PyTorch's own attention is on the lists, and aligns its arguments.
TEST_F(OpNotListedTest, TheBuiltInAttention) {
  expect_none(judged([](TestRun& run) {
    run.region("train.py", 5);
    const auto use = run.use({.op = "aten::scaled_dot_product_attention",
                              .line = 9,
                              .operands = {operand(kFloat32), operand(kBFloat16), operand(kBFloat16)},
                              .computed = kBFloat16,
                              .flags = lanes::kUseEligible});
    run.deep().called(use).shallow();
  }));
}

// FSDP and other parts of PyTorch itself pass tensors of all dtypes around.
TEST_F(OpNotListedTest, PyTorchsOwnMachineryIsLeftAlone) {
  expect_none(judged([](TestRun& run) {
    run.region("train.py", 5);
    store::TestUse copy = custom(kFloat32);
    copy.op = "fsdp::all_gather_copy_in";
    run.deep().called(run.use(copy)).shallow();
  }));
}

}  // namespace
}  // namespace castscope::rules::op_not_listed
