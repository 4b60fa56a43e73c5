// The job's own autograd Functions (torch.autograd.Function), as deep steps saw them: what autocast made of their
// forward, and what their backward computed in.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "server/rules/code_places.h"

namespace castscope::rules {

struct OwnFunction {
  std::string name;                    // "Product"
  std::set<std::uint8_t> forward_low;  // dtypes that autocast cast arguments of its forward down to
  std::uint32_t forward_stack = 0;     // of the first use in there, that was cast down if any was
  std::uint64_t forward_float = 0;     // products in float32 that its forward made outside autocast
  struct BackwardUse {
    const store::OperatorUse* use = nullptr;
    std::uint64_t times = 0;
  };
  // Of operators that autocast casts down, in the order of their first calls. Left out: what is recomputed, with a
  // graph, by code that forward ran (checkpoint-recompute-differs), and what backward itself converted to float32
  // argument by argument: that is meant.
  std::vector<BackwardUse> backward;
};

// In a stable order. A Function without forward or without such an operator in backward is not among them.
std::vector<OwnFunction> own_functions(const store::RunData&);

}  // namespace castscope::rules
