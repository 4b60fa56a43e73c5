// How the findings of a run stand to those of an earlier one, its baseline.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/store/run/run_data.h"

namespace castscope::report {

struct AgainstBaseline {
  bool known = false;     // the baseline has it
  bool looked_at = true;  // false: nobody knows, since the run without it did not look at such code
};

struct GoneFinding {  // of the baseline
  store::Finding finding;
  std::string fingerprint;
  bool looked_at = true;  // likewise
};

// Why a run may have missed a finding, after the name of the run (could_find in compare/account.h).
inline constexpr std::string_view kLookedLess =
    "did not look at such code, or not in every step, or was not recorded in full, or its job failed";

struct SinceBaseline {
  std::vector<AgainstBaseline> findings, silenced;  // as in the model
  std::vector<GoneFinding> gone;
  std::string project;  // of the baseline: its findings' files lie in it
};

}  // namespace castscope::report
