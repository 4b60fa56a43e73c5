// Finds operators about which TorchScript's autocast pass and eager autocast disagree, as far as scripted code shows it
// by itself: from the dtype that deep steps saw it compute in, from the casts of its arguments and who made them, and
// from how eager autocast of that device treats it. Traced code is left out: it has no regions of its own.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "server/rules/evidence/operators/use_graph.h"
#include "server/rules/evidence/places/places.h"

namespace castscope::rules {

enum class ListDifference : std::uint8_t {
  kPromotes,     // the pass brings all to float32, because it does not know that all are of one low dtype
  kRaises,       // it brings to float32 what eager's autocast leaves
  kLeavesLow,    // it leaves in low precision what eager's autocast brings to float32
  kLeavesFloat,  // it leaves in float32 what eager's autocast casts down
};

struct ScriptedOperator {
  const store::OperatorUse* use = nullptr;  // the first use
  ListDifference difference{};
  std::uint8_t eager = 0;    // c10::ScalarType that eager autocast would run it in
  std::uint64_t times = 0;   // in deep steps
  store::Counts casts = {};  // for kPromotes and kRaises: the casts of its arguments, in the whole run
};

// Returns the differences by line and by the operator's name.
std::map<Line, std::map<std::string, ScriptedOperator>> scripted_differences(const store::RunData&, const UseGraph&);

}  // namespace castscope::rules
