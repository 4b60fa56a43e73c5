// Answers questions that rules ask about a single operator use: its arguments, and how autocast treated them.
#pragma once

#include <cstdint>

#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/places/regions.h"
#include "server/store/run/run_data.h"

namespace castscope::rules {

// The operand takes part in deciding the dtype of the result: 0-dim tensors and Python numbers do not, beside one with
// dimensions.
inline bool has_dimensions(const lanes::Operand& o) {
  return (o.flags & (lanes::kOperandScalar | lanes::kOperandNumber)) == 0;
}
// The operand has one of autocast's dtypes, or a wider one; 0-dim tensors count, too.
bool is_floating_tensor(const lanes::Operand&);
bool has_operand(const store::OperatorUse&, std::uint8_t dtype);
// Returns the first operand at this position of the schema with this dtype; nullptr when there is none.
const lanes::Operand* operand_at(const store::OperatorUse&, std::uint8_t argument, std::uint8_t dtype);

// Returns the dtype in which the operator got the operand: the one that autocast cast it to, else its own.
inline std::uint8_t dtype_entered(const lanes::Operand& o) { return o.entered == kNoDtype ? o.dtype : o.entered; }

// The use belongs to the job's own work: torch.jit.trace runs code to record it, and to check the trace, which is a
// rehearsal.
inline bool is_forward(const store::OperatorUse& use) {
  return use.phase == lanes::Phase::kForward && !use.is(lanes::kUseTracing);
}

// The operator gave nothing back and writes to nothing: an exception ended it.
inline bool raised(const store::OperatorUse& use) { return use.result == kNoDtype && !use.is(lanes::kUseWrites); }
// The operator fills parameters or buffers, as initialization and optimizers do, and is not part of a model's
// computation.
bool is_upkeep(const store::OperatorUse&);

// Autocast of no device knows the operator in any form: nothing brings its arguments to one dtype.
bool is_on_no_list(const store::OperatorUse&);
// Autocast lets the operator compute in the widest dtype that it is given, as any operator does without autocast.
bool promotes_to_widest(const store::OperatorUse&);
// Autocast cast float32 arguments to halves: here, or inside the operator (einsum).
bool is_cast_down(const store::RunData&, const store::OperatorUse&);

}  // namespace castscope::rules
