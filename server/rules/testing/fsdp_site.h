// For tests of the rules about FSDP: a cast that FSDP makes by its policy.
#pragma once

#include "server/rules/testing/rules_test.h"

namespace castscope::rules {

inline std::uint32_t fsdp_site(TestRun& run, std::uint32_t region, std::uint8_t to, Role role) {
  return run.site({.stack = run.line("train.py", 9, true),
                   .module = run.module("", "FSDPNet"),
                   .call_site = 0,
                   .region = region,
                   .op = "aten::to",
                   .role = role,
                   .cause = lanes::Cause::kFsdp,
                   .why = WhyNotCached::kNotAutocast,
                   .phase = region == 0 ? lanes::Phase::kOther : lanes::Phase::kForward,
                   .from = kFloat32,
                   .to = to});
}

}  // namespace castscope::rules
