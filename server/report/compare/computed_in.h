// Finds operators that compute in another dtype in the second of two runs.
#pragma once

#include <vector>

#include "server/report/compare/account.h"

namespace castscope::report {

// The same operator of the same model computed in another dtype, as when a trainer and an inference engine differ, or a
// run in float32 and one with autocast.
struct PrecisionChange {
  AccountPrecision before, after;  // in each run the first one in the account's order
  bool in_part = false;            // calls at that line in the dtype of `before` are left
};

// Those that autocast's lists do not explain come first: a half that the code asked for, then one that was given. Of
// the latter, operators that lose most in a half come first, and those that lose nothing last.
std::vector<PrecisionChange> precision_changes(const Account& before, const Account& after);

// Returns the operators that compute in a half in the second run, and that the first does not have at all, though
// castscope looked at that function of the model there.
std::vector<AccountPrecision> new_in_a_half(const Account& before, const Account& after);

}  // namespace castscope::report
