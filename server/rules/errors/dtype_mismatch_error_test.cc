#include <gmock/gmock.h>

#include "server/rules/testing/rules_test.h"

namespace castscope::rules::dtype_mismatch_error {
namespace {

using DtypeMismatchErrorTest = RulesTest;

constexpr char kMat[] = "mat1 and mat2 must have the same dtype, but got BFloat16 and Float";

lanes::Operand weight(std::uint8_t dtype) { return operand(dtype, Role::kWeight); }

// The result of a region is used outside with a float32 layer.
TEST_F(DtypeMismatchErrorTest, AHalfLeavesItsRegion) {
  expect_golden("dtype_mismatch_error_after_region", judged([](TestRun& run) {
                  const auto region = run.region("train.py", 5);
                  const auto inside = run.use({.op = "aten::linear",
                                               .line = 6,
                                               .operands = {operand(kFloat32, Role::kInput), weight(kFloat32)},
                                               .computed = kBFloat16,
                                               .flags = lanes::kUseEligible});
                  const auto outside = run.use({.op = "aten::linear",
                                                .line = 7,
                                                .operands = {operand(kBFloat16), weight(kFloat32)},
                                                .flags = lanes::kUseEligible,
                                                .outside = true});
                  run.deep().enter(region).called(inside).exit();
                  run.called(outside).flowed(run.flow(inside, outside)).seen(run.error(7, kMat, outside)).shallow();
                }));
}

// The model was converted by hand, and there is no region at all, or none that made the half.
TEST_F(DtypeMismatchErrorTest, WhereNoRegionMadeTheHalf) {
  for (const bool region : {false, true}) {
    const auto findings = judged([&](TestRun& run) {
      if (region) run.region("train.py", 5);
      const auto use = run.use({.op = "aten::linear",
                                .line = 7,
                                .operands = {operand(kFloat32, Role::kInput), weight(kBFloat16)},
                                .flags = lanes::kUseEligible,
                                .outside = true});
      run.deep().called(use).seen(run.error(7, kMat, use)).shallow();
    });
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_THAT(findings[0].title, testing::Not(testing::HasSubstr("result of a region")));
    EXPECT_THAT(findings[0].fix, testing::Not(testing::HasSubstr("result of the region")));
    EXPECT_THAT(findings[0].fix, testing::HasSubstr("layer.weight.dtype"));
  }
}

TEST_F(DtypeMismatchErrorTest, FloatFirst) {
  expect_none(judged([](TestRun& run) {
    run.region("train.py", 5);
    const auto outside =
        run.use({.op = "aten::linear", .line = 7, .operands = {operand(kFloat32), weight(kFloat32)}, .outside = true});
    run.deep().called(outside).shallow();
  }));
}

TEST_F(DtypeMismatchErrorTest, ADisabledRegionWithinAnother) {
  expect_golden("dtype_mismatch_error_disabled_region", judged([](TestRun& run) {
                  run.region("train.py", 5);
                  store::RegionInfo off = TestRun::default_region();
                  off.enabled = false;
                  off.nesting = 2;
                  run.region("train.py", 8, off);
                  const auto use = run.use({.op = "aten::linear",
                                            .line = 9,
                                            .operands = {operand(kBFloat16), weight(kFloat32)},
                                            .flags = lanes::kUseEligible});
                  run.deep().called(use).seen(run.error(9, kMat, use), 2).shallow();
                }));
}

TEST_F(DtypeMismatchErrorTest, AnIndexedAssignment) {
  expect_golden("dtype_mismatch_error_indexed_assignment", judged([](TestRun& run) {
                  run.region("train.py", 5);
                  const auto use = run.use({.op = "aten::index_put_",
                                            .line = 9,
                                            .operands = {operand(kFloat32, Role::kInput), operand(kBFloat16)},
                                            .flags = lanes::kUseWrites});
                  run.deep()
                      .called(use)
                      .seen(run.error(9,
                                      "Index put requires the source and destination dtypes match, got Float for the "
                                      "destination and BFloat16 for the source.",
                                      use))
                      .shallow();
                }));
}

// scatter_add on a CPU: the error's text names no dtype, but the arguments have them.
TEST_F(DtypeMismatchErrorTest, TheArgumentsTellWhereTheTextDoesNot) {
  const auto findings = judged([](TestRun& run) {
    run.region("train.py", 5);
    const auto use = run.use({.op = "aten::scatter_add",
                              .line = 9,
                              .operands = {operand(kFloat32), operand(kInt64), operand(kBFloat16)},
                              .flags = lanes::kUseElsewhere});
    run.deep().called(use).seen(run.error(9, "scatter(): Expected self.dtype to be equal to src.dtype", use)).shallow();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "dtype-mismatch-error");
}

TEST_F(DtypeMismatchErrorTest, Float64IsNeverCast) {
  const auto findings = judged([](TestRun& run) {
    run.region("train.py", 5);
    const auto use = run.use({.op = "aten::mm",
                              .line = 9,
                              .operands = {operand(store::kFloat64), weight(kFloat32)},
                              .flags = lanes::kUseEligible});
    run.deep()
        .called(use)
        .seen(run.error(9, "expected m1 and m2 to have the same dtype, but got: double != c10::BFloat16", use))
        .shallow();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_THAT(findings[0].title, testing::HasSubstr("never casts float64"));
}

TEST_F(DtypeMismatchErrorTest, InBackward) {
  const auto findings = judged([](TestRun& run) {
    const auto stack =
        run.stack({TestRun::torch_frame("autograd/graph.py", "_engine_run_backward"), TestRun::own_frame("train", 12)});
    const auto use = run.use({.op = "aten::mm",
                              .operands = {operand(kFloat32, Role::kGradient), operand(kBFloat16, Role::kGradient)},
                              .phase = lanes::Phase::kBackward,
                              .node = "SparseAddmmBackward0",
                              .outside = true,
                              .stack = stack});
    run.deep().called(use).seen(run.error(12, "expected scalar type Float but found BFloat16", use)).shallow();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_THAT(findings[0].title, testing::HasSubstr("mm raised in SparseAddmmBackward0"));
  EXPECT_THAT(findings[0].fix, testing::HasSubstr("enabled=False"));
}

// The region of another device that lies between does not count.
TEST_F(DtypeMismatchErrorTest, ARegionOfAnotherDevice) {
  const auto findings = judged([](TestRun& run) {
    auto cuda = TestRun::default_region();
    cuda.device = 1;
    run.region("train.py", 5, cuda);
    const auto use = run.use({.op = "aten::linear",
                              .line = 9,
                              .operands = {operand(kBFloat16), weight(kFloat32)},
                              .flags = lanes::kUseEligible});
    run.deep().called(use).seen(run.error(9, kMat, use)).shallow();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_THAT(findings[0].title, testing::HasSubstr("outside of autocast"));
}

// Outside of deep steps the operator is not known, so the text decides.
TEST_F(DtypeMismatchErrorTest, TheTextAloneIsEnough) {
  for (const char* text :
       {"Input type (c10::BFloat16) and bias type (float) should be the same",
        "Input type (CPUBFloat16Type) and weight type (torch.FloatTensor) should be the same or input "
        "should be a MKLDNN tensor and weight is a dense tensor"}) {
    const auto findings = judged([&](TestRun& run) {
      run.region("train.py", 5);
      run.seen(run.error(9, text));
    });
    ASSERT_EQ(findings.size(), 1u) << text;
    EXPECT_THAT(findings[0].title, testing::HasSubstr("float32 and bfloat16"));
  }
}

// TorchScript's interpreter raises it once more, at the line that calls the script.
TEST_F(DtypeMismatchErrorTest, WhatIsRaisedAnewIsToldOnce) {
  const std::string around =
      "The following operation failed in the TorchScript interpreter.\nTraceback of TorchScript:\n";
  const auto findings_of = [&](const std::string& anew, bool inner) {
    return judged([&](TestRun& run) {
      run.region("train.py", 5);
      if (inner) run.seen(run.error(9, kMat));
      run.seen(run.error(20, anew));
    });
  };
  const std::string quoting = around + "RuntimeError: " + kMat;
  ASSERT_EQ(findings_of(quoting, true).size(), 1u);
  EXPECT_EQ(findings_of(quoting, true)[0].location->line, 9);
  EXPECT_EQ(findings_of(quoting, false).size(), 1u) << "nothing else tells it";
  EXPECT_EQ(
      findings_of(around + "RuntimeError: mat1 and mat2 must have the same dtype, but got Half and Float", true).size(),
      2u)
      << "another error";
}

// Returns the finding about an operator that raised because it was given this, in the region last defined.
Finding raised_for_want_of_a_kernel(const std::vector<Finding>& found) {
  EXPECT_EQ(found.size(), 1u);
  return found.empty() ? Finding() : found[0];
}
void raises(TestRun& run, const std::string& op, const char* text, std::uint16_t flags = 0, bool outside = false) {
  const auto use = run.use(
      {.op = op, .line = 9, .operands = {operand(kBFloat16)}, .flags = flags, .outside = outside, .raised = true});
  run.deep().called(use).seen(run.error(9, text, use)).shallow();
}

TEST_F(DtypeMismatchErrorTest, NoKernelWhereAutocastIsOff) {
  const Finding found = raised_for_want_of_a_kernel(judged([](TestRun& run) {
    store::RegionInfo off = TestRun::default_region();
    off.enabled = false;
    run.region("train.py", 5, off);
    raises(run, "aten::fft_fft", "Unsupported dtype BFloat16", lanes::kUseEligible);
  }));
  EXPECT_TRUE(
      found.title.starts_with("fft_fft raised: PyTorch has no kernel of it for bfloat16 on cpu, and autocast "
                              "is disabled there"))
      << found.title;
  EXPECT_EQ(found.fix, "Give it float32 (x.float()).");
}

TEST_F(DtypeMismatchErrorTest, NoKernelAndNoRuleOfTorchScripts) {
  const Finding found = raised_for_want_of_a_kernel(judged([](TestRun& run) {
    store::RegionInfo own = TestRun::default_region();
    own.kind = lanes::RegionKind::kScript;
    run.region("train.py", 5, own);
    raises(run, "aten::linalg_inv", "linalg.inv: Low precision dtypes not supported. Got BFloat16",
           lanes::kUseEligible | lanes::kUseScript);
  }));
  EXPECT_NE(found.title.find("TorchScript's autocast has no rule for it"), std::string::npos) << found.title;
  EXPECT_NE(found.fix.find("around the call of the script"), std::string::npos) << found.fix;
}

// The first text names three dtypes, of which the operator got one; the other text names none.
TEST_F(DtypeMismatchErrorTest, NoKernelIsKnownByTheOperatorToo) {
  for (const auto& [op, text] : {std::pair("aten::quantile",
                                           "quantile() input tensor must be either float or double "
                                           "dtype"),
                                 std::pair("aten::view_as_complex",
                                           "view_as_complex is only supported for half, float and double tensors, but "
                                           "got a tensor of scalar type: BFloat16")}) {
    const Finding found = raised_for_want_of_a_kernel(judged([&](TestRun& run) {
      run.region("train.py", 5);
      raises(run, op, text, 0, true);
    }));
    EXPECT_NE(found.title.find("no kernel of it for bfloat16 on cpu"), std::string::npos) << found.title;
  }
}

TEST_F(DtypeMismatchErrorTest, NoKernelOfAnOperatorThatIsNotKnown) {
  const Finding found = raised_for_want_of_a_kernel(
      judged([](TestRun& run) { run.seen(run.error(9, "\"addmm_impl_cpu_\" not implemented for 'Half'")); }));
  EXPECT_TRUE(found.title.starts_with("an operator raised: PyTorch has no kernel of it for float16")) << found.title;
}

// An error about the operator's shapes has nothing to do with dtypes.
TEST_F(DtypeMismatchErrorTest, AnotherErrorOfAnOperatorWithoutAKernel) {
  expect_none(judged([](TestRun& run) {
    run.region("train.py", 5);
    raises(run, "aten::cdist", "X1 and X2 must have the same number of columns. X1: 4 X2: 3", 0, true);
  }));
}

// TorchScript differentiates its graph, which does not have the casts that eager autocast made while it ran.
TEST_F(DtypeMismatchErrorTest, InTheBackwardOfAScriptThatIsCastThoughOff) {
  const auto judged_with = [&](bool though_off) {
    return judged([&](TestRun& run) {
      run.region("train.py", 5);
      const auto use = run.use({.op = "aten::mm",
                                .line = 9,
                                .operands = {operand(kBFloat16), operand(kFloat32)},
                                .flags = lanes::kUseScript,
                                .phase = lanes::Phase::kBackward,
                                .node = "DifferentiableGraphBackward",
                                .outside = true,
                                .raised = true});
      run.deep().called(use).seen(run.error(9, kMat, use)).shallow();
      if (though_off) run.seen(run.fact(FactKind::kScriptIgnoresDisable, 9, {.text = "train.py:8"}));
    });
  };
  for (const Finding& finding : judged_with(true)) {
    if (finding.rule != "dtype-mismatch-error") continue;
    EXPECT_TRUE(finding.title.starts_with("mm raised in DifferentiableGraphBackward: ")) << finding.title;
    EXPECT_TRUE(finding.fix.starts_with("Call the script in `with torch.autocast")) << finding.fix;
  }
  const auto plain = judged_with(false);
  ASSERT_EQ(plain.size(), 1u);
  EXPECT_TRUE(plain[0].title.starts_with("mm raised in DifferentiableGraphBackward: ")) << plain[0].title;
  EXPECT_EQ(plain[0].fix.find("Call the script in"), std::string::npos) << plain[0].fix;
}

TEST_F(DtypeMismatchErrorTest, OtherErrorsAreNone) {
  expect_none(judged([](TestRun& run) {
    run.region("train.py", 5);
    for (const char* text :
         {"mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)", "\"argmax_cpu\" not implemented for 'Bool'",
          "expected scalar type Long but found Float",
          "mat1 and mat2 must have the same dtype, but got Double and Float",
          "Tensors must have same number of dimensions: got 2 and 3", "CUDA out of memory. Tried to allocate 2.00 GiB"})
      run.seen(run.error(9, text));
  }));
}

// The cache served a float16 region with the bfloat16 copy: cache-wrong-dtype reports that.
TEST_F(DtypeMismatchErrorTest, ACopyOfAnotherDtypeFromTheCacheIsNoneOfIts) {
  for (const auto& finding : judged([](TestRun& run) {
         store::RegionInfo half = TestRun::default_region();
         half.dtype = kFloat16;
         const auto region = run.region("train.py", 5, half);
         const auto site = run.weight("train.py", 9, "fc");  // to bfloat16
         const auto use = run.use({.op = "aten::linear",
                                   .line = 9,
                                   .operands = {operand(kFloat16), weight(kFloat32)},
                                   .flags = lanes::kUseEligible});
         run.enter(region).hit(site, kWeight).deep().called(use);
         run.seen(run.error(9, "mat1 and mat2 must have the same dtype, but got Half and BFloat16", use)).exit();
       }))
    EXPECT_NE(finding.rule, "dtype-mismatch-error");
}

// A convolution in a script's region: its bias is an Optional[Tensor], which TorchScript's pass leaves alone.
void convolved(TestRun& run, const std::string& error, std::int64_t line_of_fact = 8, bool in_a_layer = true) {
  const auto stack = [&](std::int64_t line) {
    std::vector<store::CodeLocation> frames = {TestRun::own_frame("forward", line, "net.py")};
    if (in_a_layer) frames.insert(frames.begin(), TestRun::torch_frame("nn/modules/conv.py", "_conv_forward"));
    return run.stack(std::move(frames));
  };
  run.seen(run.fact_at(FactKind::kError, stack(8), {.text = error}), 2);
  run.seen(run.fact_at(FactKind::kScriptLeavesArgument, stack(line_of_fact),
                       {.text = "aten::conv2d bias: Optional[Tensor]"}),
           2);
}
constexpr char kBias[] = "Input type (c10::BFloat16) and bias type (float) should be the same";

TEST_F(DtypeMismatchErrorTest, AScriptLeavesTheBias) {
  expect_golden("dtype_mismatch_error_scripted_bias", judged([](TestRun& run) { convolved(run, kBias); }));
}

TEST_F(DtypeMismatchErrorTest, InTheJobsOwnCode) {
  const auto found = judged([](TestRun& run) { convolved(run, kBias, 8, false); });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].fix.find("assert bias is not None"), std::string::npos) << found[0].fix;
}

// Neither another line's argument, nor dtypes that the pass would not have cast either, explains the error.
TEST_F(DtypeMismatchErrorTest, AnotherReason) {
  for (const auto& [text, line] :
       {std::pair(kBias, 9), {"Input type (c10::BFloat16) and bias type (double) should be the same", 8}}) {
    const auto found = judged([&](TestRun& run) { convolved(run, text, line); });
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].title.find("TorchScript"), std::string::npos) << found[0].title;
  }
}

}  // namespace
}  // namespace castscope::rules::dtype_mismatch_error
