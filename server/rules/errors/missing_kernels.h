// Judges errors of operators that have no kernel for the low precision that they got, as a part of
// dtype-mismatch-error.
#pragma once

#include "server/rules/inquiry/rule.h"

namespace castscope::rules {

void judge_missing_kernels(Inquiry&);

}  // namespace castscope::rules
