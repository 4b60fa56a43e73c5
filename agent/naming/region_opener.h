// Tells whose region it is. A `with` belongs to the frame that it stands in, even when it is entered through
// contextlib. When that frame is a coroutine's or a generator's, it may be suspended while the region is open: then
// other code runs in the region.
#pragma once

#include <cstdint>

#include "agent/cpython/python_stack.h"
#include "agent/naming/definitions.h"

namespace castscope::agent {

inline constexpr std::uint16_t kNoFrame = 0xffff;
// Facts from the stack on which a region is entered or left. Frames are counted from the innermost, which is 0.
struct RegionOpener {
  std::uint16_t opener = kNoFrame;  // the first frame that is not autocast's own; past the last when there is none
  std::uint16_t owner = kNoFrame;  // … nor contextlib's, nor the generator of a context manager that contextlib drives
  bool may_be_suspended = false;   // the owner is a coroutine or a generator that does not lend the region on purpose
  bool runs_later = false;         // lanes::kRegionRunsLater
};
// The code of the stack must be pinned.
RegionOpener opener_of(const HeldGil& gil, const PythonApi& api, Definitions& definitions, const RawStack& raw);

// The calling thread's frame with this number; nullptr when there are fewer frames.
const void* frame_at(const PythonApi& api, const PyThread* lasting, std::uint16_t number);
// Whether the frame is on the calling thread's stack.
bool is_running(const PythonApi& api, const PyThread* lasting, const void* frame);

}  // namespace castscope::agent
