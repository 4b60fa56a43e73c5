// Integers that a half rounds: those that an operator brings to a half because that is the dtype of the floating tensor
// beside them, those that are converted to one, and those that are counted in one (arange, cumsum).
#pragma once

#include "agent/operators/counting.h"
#include "agent/operators/thread_operators.h"

namespace castscope::operators {

// Returns a sample of the first integer argument that gets the dtype of a half, or is converted; an empty one where
// there is none, or where float16 and bfloat16 have all of its numbers. Call it when the use begins: its arguments may
// be gone at its end.
ValueSample integers_given(const OpenUse& use);

// Returns what arange or linspace is asked to count. `inputs` are its arguments, in the order of its schema.
Counting counting_of(const OperatorInfo& info, c10::ArrayRef<const c10::IValue> inputs);
// Returns a sample of what was counted in `result`, which is in a half: the numbers of arange and linspace before they
// were rounded, the sums of cumsum as they are.
ValueSample integers_counted(const OpenUse& use, const c10::TensorImpl* result);

}  // namespace castscope::operators
