// For tests of the rules about TorchScript: a cast that a script or a trace makes, and the regions around it.
#pragma once

#include "server/rules/testing/rules_test.h"

namespace castscope::rules {

// Returns the site of a product's first argument in net.py, line 8.
inline std::uint32_t script_cast(TestRun& run, std::uint32_t region, std::uint8_t to = kBFloat16,
                                 std::uint8_t flags = 0) {
  return run.site({.stack = run.line("net.py", 8),
                   .call_site = run.call_site("aten::mm", 0, "self"),
                   .region = region,
                   .op = "",
                   .role = Role::kInput,
                   .cause = lanes::Cause::kScript,
                   .why = WhyNotCached::kNotAutocast,
                   .phase = lanes::Phase::kForward,
                   .from = kFloat32,
                   .to = to,
                   .flags = flags});
}

inline store::RegionInfo region_of(std::uint8_t dtype) {
  store::RegionInfo region = TestRun::default_region();
  region.dtype = dtype;
  return region;
}

}  // namespace castscope::rules
