// Where the casts' time goes, as people see it: sites that share a line, an operator, an argument and dtypes are one
// (modules in a loop), named by the first.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/report/model.h"

namespace castscope::report {

struct Cost {
  std::uint32_t site = 0;  // the costliest of them
  std::optional<store::CodeLocation> at;
  store::Counts counts;
  std::uint64_t gpu_ns = 0;  // on the device, in timed steps
  std::uint64_t sites = 0;
  std::uint64_t first_ns = 0;  // of the first cast of each site in each process: it may pay for page faults
  double share = 0;            // of the CPU time of all casts, autocast's and others
};
std::vector<Cost> costliest(const Model&);  // costliest first; sites that only hit are left out

// "linear weight of encoder.0 and 11 more, float32 to bfloat16: 1,200 casts, 3.1 ms, not kept: view"
std::string description(const Model&, const Cost&);

}  // namespace castscope::report
