// What the numbers in the events of one process mean: the timeline asks for each once, when an event first has it.
#pragma once

#include <cstdint>

#include "server/store/run_data.h"

namespace castscope::timeline {

// Null, or 0: not known. Pointers are used before the next call of whoever feeds the timeline.
class Numbers {
 public:
  virtual ~Numbers() = default;
  virtual const store::Site* site(std::uint32_t process, std::uint32_t local) const = 0;
  virtual const store::Region* region(std::uint32_t process, std::uint32_t local) const = 0;
  virtual const store::OperatorUse* operator_use(std::uint32_t process, std::uint32_t local) const = 0;
  virtual std::uint32_t fact(std::uint32_t process, std::uint32_t local) const = 0;
};

}  // namespace castscope::timeline
