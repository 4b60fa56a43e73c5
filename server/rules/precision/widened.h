// Follows a value that became float32 in one operator, through the operators that hand it on in float32 and would have
// computed in low precision if they had been given it.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "server/rules/evidence/operators/enforced_decisions.h"
#include "server/rules/evidence/operators/use_graph.h"

namespace castscope::rules {

// An operator that took such a value and, under autocast, cast it down again.
struct CastDown {
  store::OperatorUseId use = {};
  std::uint8_t argument = 0;
  std::uint64_t times = 0;
};

struct Widened {
  std::set<store::OperatorUseId> uses;  // uses that computed in float32 because of it, the first among them
  std::vector<CastDown> casts_down;
  // Other ways in which its path may have ended:
  bool held = false;  // in an operator that autocast holds in float32, or one that scales by such an operator's result
  bool converted = false;  // the code converts it
  bool leaves = false;     // it leaves the region
};

// Returns the first operand in float32, or in a half, that takes part in deciding the dtype of the result; nullptr when
// there is none.
const lanes::Operand* wide_operand(const store::OperatorUse&);
const lanes::Operand* low_operand(const store::OperatorUse&);

Widened follow_widened(const store::RunData&, const EnforcedDecisions&, const UseGraph&, store::OperatorUseId from);

// `x * rsqrt(…)`: a written-out norm, which is meant to be in float32. The value that `from` made is not inspected.
bool scales_by_statistic(const UseGraph&, const store::OperatorUse&, store::OperatorUseId from = {});

// Returns whether autocast casts this value down for the operator: the flow says so, or the operator, which has no
// kernel of its own, gives back less precision than it was given (einsum, lstm: autocast casts in the operators that
// they are made of).
bool is_cast_down(const UseGraph&, const store::Flow&);

// Returns the time that these casts took in the whole run, not in deep steps alone.
double casting_ns(const store::RunData&, const UseGraph&, const std::vector<CastDown>&);

}  // namespace castscope::rules
