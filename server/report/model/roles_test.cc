#include "server/report/model/roles.h"

#include "server/report/testing/test_report.h"

namespace castscope::report {
namespace {

using lanes::WhyNotCached;
using store::TestRun;

class RolesTest : public RecordedTest {};

TEST_F(RolesTest, CastsByWhatTheyWere) {
  const store::RunData data = recorded([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto weight = run.weight("train.py", 8, "fc"), input = run.input("train.py", 8, "fc");
    const auto frozen = run.weight("train.py", 9, "head", WhyNotCached::kNoRequiresGrad);
    run.enter(region).cast(weight, 0x10, true).hit(weight, 0x10).hit(weight, 0x10);
    run.cast(input, 0x20).cast(frozen, 0x30).cast(frozen, 0x30).exit();
  });
  const std::vector<RoleTotal> roles = by_role(data);
  EXPECT_EQ(roles_line(roles), "weights 3 (2 cache hits), inputs 1, activations 0, gradients 0");
  EXPECT_EQ(not_kept_line(roles), "weights 2 (frozen weight); inputs 1 (not parameters)");
}

TEST_F(RolesTest, RolesWithTheSameReasonAreToldTogether) {
  std::vector<RoleTotal> roles(2);
  roles[0].role = lanes::Role::kInput, roles[0].counts.casts = 3, roles[0].not_kept[WhyNotCached::kNoRequiresGrad] = 3;
  roles[1].role = lanes::Role::kActivation, roles[1].counts.casts = 9;
  roles[1].not_kept = {{WhyNotCached::kNotLeaf, 7}, {WhyNotCached::kView, 2}};
  EXPECT_EQ(not_kept_line(roles), "inputs 3 and activations 9 (not parameters)");
}

// The policy says float16, the region bfloat16.
TEST_F(RolesTest, InputsCastToThePolicysDtype) {
  const store::RunData data = recorded([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    store::SiteInfo input;
    input.stack = run.line("train.py", 8), input.call_site = run.call_site("aten::linear", 0, "input");
    input.region = region, input.role = lanes::Role::kInput, input.cause = lanes::Cause::kAutocast;
    input.why = WhyNotCached::kOtherDtype, input.from = store::kFloat32, input.to = store::kFloat16;
    run.enter(region).cast(run.site(input), 0x10).exit();
  });
  EXPECT_EQ(not_kept_line(by_role(data)), "inputs 1 (not parameters)");
}

TEST_F(RolesTest, WhatIsNotAutocastsIsNotCounted) {
  const store::RunData data = recorded([](TestRun& run) {
    store::SiteInfo user;
    user.stack = run.line("data.py", 3);
    user.cause = lanes::Cause::kUserTo, user.role = lanes::Role::kInput;
    run.cast(run.site(user), 0x10);
  });
  EXPECT_EQ(roles_line(by_role(data)), "");
}

}  // namespace
}  // namespace castscope::report
