// Recognises rotations by position, q * cos + rotated(q) * sin, whose tables have to be float32.
#pragma once

#include "server/rules/evidence/operators/enforced_decisions.h"
#include "server/rules/evidence/operators/use_graph.h"

namespace castscope::rules {

// The operator multiplies by a float32 table in such a rotation: its product is added to another one, and both turn one
// and the same value. That value may come from several matrix products, as the sum of a layer and its adapter does.
bool rotates(const EnforcedDecisions&, const UseGraph&, const store::OperatorUse&);

}  // namespace castscope::rules
