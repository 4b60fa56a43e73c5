// Facts (lanes::FactKind): things worth a sentence with a place. They are defined once, and counted as sites are.
#pragma once

#include <cstdint>
#include <string_view>

#include "agent/session/process.h"

namespace castscope::agent {

struct FactSeen {
  lanes::FactKind kind{};
  std::uint16_t detail = 0;
  std::uint32_t subject = 0;  // as the kind says
  std::string_view text = {};
  std::uint32_t stack = 0;  // definition of the place; 0 = where this thread is now
  std::uint64_t times = 1;
};

// Called at a thread's first sight of a fact. It may read more from the stack, whose code is known by then, and put it
// into `detail`. Returning false leaves the fact out.
using LookAtStack = bool (*)(Definitions& definitions, const RawStack& stack, lanes::FactDefinition& fact);

// Counts the fact. Returns its number, for an event that tells of it; 0 when it is left out, or there is no room, or no
// memory, for one more.
std::uint32_t note_fact(const MayWait& may_wait, ThreadState& t, const FactSeen& seen,
                        LookAtStack look = nullptr) noexcept;
// The same where the GIL must not be waited for: the place is told as far as its code is known.
std::uint32_t note_fact_as_known(ThreadState& t, const FactSeen& seen, LookAtStack look = nullptr) noexcept;

}  // namespace castscope::agent
