// Where TorchScript's autocast pass and eager's autocast disagree about an operator, as far as scripted code shows it
// by itself: what deep steps saw it compute in, who cast what it was given, and what eager's autocast of that device
// does. What was traced is left out: it knows no region of its own code.
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
  const store::OperatorUse* use = nullptr;  // the first
  ListDifference difference{};
  std::uint8_t eager = 0;    // c10::ScalarType that eager's autocast would have it in
  std::uint64_t times = 0;   // in deep steps
  store::Counts casts = {};  // of kPromotes and kRaises: those of its arguments, in the whole run
};

// By line, and by the operator's name.
std::map<Line, std::map<std::string, ScriptedOperator>> scripted_differences(const store::RunData&, const UseGraph&);

}  // namespace castscope::rules
