// What the numbers in the events of one process mean: the timeline asks for each once, when an event first has it.
#pragma once

#include <cstdint>

#include "server/store/run/run_data.h"

namespace castscope::timeline {

// By what a kernel is drawn.
struct KernelLook {
  std::uint32_t id = 0;  // 0 = not known
  lanes::GpuWork work{};
  bool cast = false;  // a cast launched it
  std::uint8_t dtype = 0xff;
  lanes::Cause cause{};
  // `cast`, `use`: what it was launched for, null where that is not known.
  void launched_for(const store::Site* site, const store::OperatorUse* use) {
    if (cast && site != nullptr) dtype = site->to, cause = site->cause;
    if (!cast && use != nullptr) dtype = use->computed;
  }
};

// Null, or 0: not known. Pointers are used before the next call of whoever feeds the timeline.
class Numbers {
 public:
  virtual ~Numbers() = default;
  virtual const store::Site* site(std::uint32_t process, std::uint32_t local) const = 0;
  virtual const store::Region* region(std::uint32_t process, std::uint32_t local) const = 0;
  virtual const store::OperatorUse* operator_use(std::uint32_t process, std::uint32_t local) const = 0;
  virtual KernelLook kernel(std::uint32_t process, std::uint32_t local) const = 0;
  virtual std::uint32_t fact(std::uint32_t process, std::uint32_t local) const = 0;
};

}  // namespace castscope::timeline
