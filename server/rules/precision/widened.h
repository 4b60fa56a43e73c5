// Where a value goes that became float32 in one operator: as far as operators hand it on in float32 that would have
// computed in less, had they been given less.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "server/rules/evidence/operators/enforced_decisions.h"
#include "server/rules/evidence/operators/use_graph.h"

namespace castscope::rules {

// An operator that took such a value and, under autocast, cast it down again.
struct CastDown {
  std::uint32_t use = 0;
  std::uint8_t argument = 0;
  std::uint64_t times = 0;
};

struct Widened {
  std::set<std::uint32_t> uses;  // that computed in float32 because of it, the first among them
  std::vector<CastDown> casts_down;
  // How its way ended elsewhere.
  bool held = false;  // in an operator that autocast holds in float32 itself, or that scales by such a one's result
  bool converted = false;  // the code converts it
  bool leaves = false;     // the region
};

Widened follow_widened(const store::RunData&, const EnforcedDecisions&, const UseGraph&, std::uint32_t from);

// `x * rsqrt(…)`: a norm written out, which is meant to be in float32. Of the values that the operator takes, all but
// what `from` made is looked at.
bool scales_by_statistic(const UseGraph&, const store::OperatorUse&, std::uint32_t from = 0);

// Whether autocast casts this value down for the operator: the flow says so, or the operator, which has no kernel of
// its own, gives back less than it was given (einsum, lstm: what they are made of casts).
bool is_cast_down(const UseGraph&, const store::Flow&);

// The time that the casts of these took: all of the run, not of deep steps alone.
double casting_ns(const store::RunData&, const UseGraph&, const std::vector<CastDown>&);

}  // namespace castscope::rules
