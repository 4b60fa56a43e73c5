// One thing that `castscope doctor` has examined.
#pragma once

#include <string>

namespace castscope::cli {

struct Check {
  std::string name, state, found, mend;  // state: ok, warning, problem; mend: what to do about it, "" = nothing
};

}  // namespace castscope::cli
