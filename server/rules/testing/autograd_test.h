// Stacks for tests of rules about backward, as they are in the methods of an autograd Function.
#pragma once

#include <string>
#include <vector>

#include "server/rules/testing/rules_test.h"

namespace castscope::rules {

using lanes::Phase;

class AutogradTest : public RulesTest {
 protected:
  static constexpr std::uint16_t kEligible = lanes::kUseEligible;

  // Returns the stack of this line in a method of Product: called by Product.apply in forward, by the engine in
  // backward.
  static std::uint32_t in_forward(TestRun& run, std::int64_t line, const std::string& owner = "Product") {
    return run.stack({TestRun::own_frame(owner + ".forward", line),
                      TestRun::torch_frame("autograd/function.py", "Function.apply"), TestRun::own_frame("train", 40)});
  }
  static std::uint32_t in_backward(TestRun& run, std::int64_t line, const std::string& owner = "Product",
                                   std::vector<store::CodeLocation> inside = {}) {
    inside.push_back(TestRun::own_frame(owner + ".backward", line));
    for (const auto& frame : {TestRun::torch_frame("autograd/function.py", "BackwardCFunction.apply"),
                              TestRun::torch_frame("autograd/graph.py", "_engine_run_backward"),
                              TestRun::torch_frame("_tensor.py", "Tensor.backward"), TestRun::own_frame("train", 42)})
      inside.push_back(frame);
    return run.stack(std::move(inside));
  }
  // x @ w in forward, as autocast runs it.
  static std::uint32_t forward_product(TestRun& run, std::uint8_t computed = kBFloat16) {
    return run.use({.op = "aten::matmul",
                    .operands = {operand(kFloat32, Role::kInput), operand(kFloat32, Role::kWeight)},
                    .computed = computed,
                    .flags = kEligible,
                    .stack = in_forward(run, 6)});
  }
  struct Backward {
    std::uint8_t computed = kFloat32;
    bool outside = true;
    std::string node = "ProductBackward";
    std::uint16_t flags = kEligible;
    std::string op = "aten::matmul";
  };
  // grad @ w.t() in backward.
  static std::uint32_t backward_product(TestRun& run, std::int64_t line, const Backward& how) {
    return run.use({.op = how.op,
                    .operands = {operand(kFloat32, Role::kGradient), operand(kFloat32, Role::kWeight)},
                    .computed = how.computed,
                    .flags = how.flags,
                    .phase = Phase::kBackward,
                    .node = how.node,
                    .outside = how.outside,
                    .stack = in_backward(run, line)});
  }
};

}  // namespace castscope::rules
