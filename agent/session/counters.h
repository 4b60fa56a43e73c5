// The counters of a thread's lane.
#pragma once

#include <cstdint>

#include "agent/lanes/format.h"

namespace castscope::agent {

struct ThreadState;

struct Counted {
  lanes::Counter* counter = nullptr;
  std::uint32_t site = 0;
};

// The counter of a site, an operator use or a fact, made at need. Where there is no room for one: the counter at which
// such calls are counted together, autocast's apart from all others, and the site that stands for them.
Counted counter_of(ThreadState& t, std::uint32_t id, lanes::Cause cause);
Counted overflow_of(ThreadState& t, lanes::Cause cause);

}  // namespace castscope::agent
