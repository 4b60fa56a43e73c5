// Integers that an operator brings to a half, because that is the dtype of the floating tensor beside them.
#pragma once

#include "agent/operators/thread_operators.h"

namespace castscope::operators {

// Returns a sample of the first such argument; an empty one where there is none, or where float16 and bfloat16 have all
// of its numbers. Call it when the use begins: its arguments may be gone at its end.
ValueSample promoted_integers(const OpenUse& use);

}  // namespace castscope::operators
