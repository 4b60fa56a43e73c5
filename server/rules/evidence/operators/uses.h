// Questions that rules ask about a single operator use: what it was given, and what autocast did about it.
#pragma once

#include <cstdint>

#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/places/regions.h"
#include "server/store/run/run_data.h"

namespace castscope::rules {

// Takes part in deciding the dtype of the result: 0-dim tensors and Python numbers do not, beside one with dimensions.
inline bool has_dimensions(const lanes::Operand& o) {
  return (o.flags & (lanes::kOperandScalar | lanes::kOperandNumber)) == 0;
}
// Of one of autocast's dtypes, or wider; 0-dim ones too.
bool is_floating_tensor(const lanes::Operand&);
bool has_operand(const store::OperatorUse&, std::uint8_t dtype);
// The first operand at this position of the schema with this dtype; nullptr: there is none.
const lanes::Operand* operand_at(const store::OperatorUse&, std::uint8_t argument, std::uint8_t dtype);

// The dtype in which the operator got it: what autocast made of it, else as it was.
inline std::uint8_t dtype_entered(const lanes::Operand& o) { return o.entered == kNoDtype ? o.dtype : o.entered; }

// Of the job's own work: what torch.jit.trace runs to record code, and to check what it made, is a rehearsal.
inline bool is_forward(const store::OperatorUse& use) {
  return use.phase == lanes::Phase::kForward && !use.is(lanes::kUseTracing);
}

// It gave nothing back, and writes to nothing: an exception ended it.
inline bool raised(const store::OperatorUse& use) { return use.result == kNoDtype && !use.is(lanes::kUseWrites); }
// It fills parameters or buffers, as initialization and optimizers do, and is no part of what a model computes.
bool is_upkeep(const store::OperatorUse&);

// Autocast of no device knows the operator in any form: nothing brings its arguments to one dtype.
bool is_on_no_list(const store::OperatorUse&);
// Autocast lets it compute in the widest dtype that it is given, as any operator does without autocast.
bool promotes_to_widest(const store::OperatorUse&);
// Autocast made halves of float32 arguments: here, or inside (einsum).
bool is_cast_down(const store::RunData&, const store::OperatorUse&);

}  // namespace castscope::rules
