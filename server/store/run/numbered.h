// The things that have a number of their own in a process, and another in the run.
#pragma once

namespace castscope::store {

enum class Numbered { kProcess, kSite, kRegion, kOperatorUse, kFact, kKernel };

}  // namespace castscope::store
