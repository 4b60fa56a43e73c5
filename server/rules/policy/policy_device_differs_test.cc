#include "server/rules/testing/rules_test.h"

namespace castscope::rules::policy_device_differs {
namespace {

using PolicyDeviceDiffersTest = RulesTest;

// Calls operators in low precision on a device whose autocast does not know them.
void call(TestRun& run, const std::vector<std::string>& ops, std::uint16_t flags = lanes::kUseElsewhere) {
  const auto region = run.region("train.py", 5);
  run.enter(region).deep();
  std::int64_t line = 8;
  for (const std::string& op : ops)
    run.called(run.use({.op = op, .line = line++, .operands = {operand(kBFloat16)}, .flags = flags}));
  run.shallow().exit();
}

const std::vector<std::string> kMany = {"aten::linalg_vector_norm", "aten::sum",   "aten::softmax.int", "aten::exp",
                                        "aten::layer_norm",         "aten::cumsum"};

TEST_F(PolicyDeviceDiffersTest, ManyOfThem) {
  expect_golden("policy_device_differs_many_operators", judged([](TestRun& run) { call(run, kMany); }));
}

TEST_F(PolicyDeviceDiffersTest, OperatorsThatDevicesShare) {
  expect_none(judged([](TestRun& run) { call(run, kMany, lanes::kUseEligible); }));
}

TEST_F(PolicyDeviceDiffersTest, OrdinaryLayers) {
  expect_none(judged([](TestRun& run) {
    call(run, {"aten::layer_norm", "aten::softmax.int", "aten::pow.Tensor_Scalar", "aten::sum", "aten::softmax.int"});
  }));
}

TEST_F(PolicyDeviceDiffersTest, WhatIsCastDownElsewhereIsNoDifference) {
  expect_none(judged([](TestRun& run) {
    call(run, {"aten::einsum", "aten::mv", "aten::addmv", "aten::gru_cell", "aten::lstm_cell", "aten::tensordot",
               "aten::bilinear", "aten::chain_matmul"});
  }));
}

TEST_F(PolicyDeviceDiffersTest, Float32IsFloat32Everywhere) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    run.enter(region).deep();
    for (const std::string& op : kMany)
      run.called(run.use({.op = op, .operands = {operand(kFloat32)}, .flags = lanes::kUseElsewhere}));
    run.shallow().exit();
  }));
}

}  // namespace
}  // namespace castscope::rules::policy_device_differs
