// Describes the job's own autograd Functions (torch.autograd.Function) as deep steps saw them: how autocast treated
// their forward, and in which dtypes their backward computed.
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
  store::StackId forward_stack = {};   // the first use in its forward, one that was cast down if there was any
  std::uint64_t forward_float = 0;     // the most runs of any product of its forward in float32, outside autocast
  // Uses of operators that autocast casts down, in the order of their first calls. It leaves out operators that are
  // recomputed, with a graph, by code that forward ran (checkpoint-recompute-differs), and those whose arguments
  // backward itself converted to float32, one by one: that is intended.
  std::vector<CountedUse> backward;
};

// Returns the Functions of one process, in a stable order; those without a forward are not among them.
std::vector<OwnFunction> own_functions(const store::RunData&, const ProcessUses&);

// The uses in the backward of one Function that are wrong in one way.
struct WrongBackward {
  OwnFunction function;
  const store::OperatorUse* first = nullptr;
  std::uint64_t times = 0;   // all uses together
  std::uint64_t fewest = 0;  // the least frequent use: about how often backward ran
  std::set<std::string> operators;
};
// Returns the wrong backwards of all processes, one for each place of the first use. `is_wrong(function, use)` decides.
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
