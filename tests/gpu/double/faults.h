// Faults that a test may set: nogpu.h says what each does.
#pragma once

#include <cstdint>

namespace nogpu {

enum class Fault { kLose, kReorder, kHold, kNoSeat, kNoBuffer, kCount };

uint64_t fault(Fault which);

}  // namespace nogpu
