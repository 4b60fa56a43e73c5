// The job's own autograd Functions (torch.autograd.Function), as deep steps saw them: what autocast made of their
// forward, and what their backward computed in.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "server/rules/evidence/counts/counts.h"

namespace castscope::rules {

struct OwnFunction {
  std::string name;                    // "Product"
  std::set<std::uint8_t> forward_low;  // dtypes that autocast cast arguments of its forward down to
  std::uint32_t forward_stack = 0;     // of the first use in there, that was cast down if any was
  std::uint64_t forward_float = 0;     // how often its forward made a product in float32, outside autocast, at most
  // Of operators that autocast casts down, in the order of their first calls. Left out: what is recomputed, with a
  // graph, by code that forward ran (checkpoint-recompute-differs), and what backward itself converted to float32
  // argument by argument: that is meant.
  std::vector<CountedUse> backward;
};

// Of one process, in a stable order. A Function without forward is not among them.
std::vector<OwnFunction> own_functions(const store::RunData&, const ProcessUses&);

// Uses in the backward of one Function that are wrong in one way.
struct WrongBackward {
  OwnFunction function;
  const store::OperatorUse* first = nullptr;
  std::uint64_t times = 0;   // together
  std::uint64_t fewest = 0;  // of one use: about how often backward ran
  std::set<std::string> operators;
};
// Of all processes, one for each place of the first use. `is_wrong(function, use)`.
template <typename IsWrong>
std::vector<WrongBackward> wrong_backwards(const store::RunData&, IsWrong is_wrong);

void add_use(WrongBackward&, const CountedUse&);
std::vector<WrongBackward> one_for_each_place(const store::RunData&, std::vector<WrongBackward>);

template <typename IsWrong>
std::vector<WrongBackward> wrong_backwards(const store::RunData& data, IsWrong is_wrong) {
  std::vector<WrongBackward> all;
  for (const ProcessUses& uses : uses_by_process(data)) {
    for (OwnFunction& function : own_functions(data, uses)) {
      WrongBackward found;
      for (const CountedUse& counted : function.backward)
        if (is_wrong(function, *counted.use)) add_use(found, counted);
      found.function = std::move(function);
      if (found.first != nullptr) all.push_back(std::move(found));
    }
  }
  return one_for_each_place(data, std::move(all));
}

}  // namespace castscope::rules
