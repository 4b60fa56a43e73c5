// The meaning of the numbers in the events of one process: the timeline asks once for each number, when an event first
// has it.
#pragma once

#include <cstdint>

#include "server/store/run/run_data.h"

namespace castscope::timeline {

// The properties of a kernel that decide how it is drawn.
struct KernelLook {
  store::KernelId id = {};  // none = not known
  lanes::GpuWork work{};
  bool cast = false;  // a cast launched it
  std::uint8_t dtype = 0xff;
  lanes::Cause cause{};
  // `cast`, `use`: what the kernel was launched for; null where that is not known.
  void launched_for(const store::Site* site, const store::OperatorUse* use) {
    if (cast && site != nullptr) dtype = site->to, cause = site->cause;
    if (!cast && use != nullptr) dtype = use->computed;
  }
};

// Null or none means "not known". Pointers are used before the feeding thread's next call.
class Numbers {
 public:
  virtual ~Numbers() = default;
  virtual const store::Site* site(store::ProcessId process, std::uint32_t local) const = 0;
  virtual const store::Region* region(store::ProcessId process, std::uint32_t local) const = 0;
  virtual const store::OperatorUse* operator_use(store::ProcessId process, std::uint32_t local) const = 0;
  // The module that calls the operator.
  virtual const store::Module* module_of_use(store::ProcessId /*process*/, std::uint32_t /*local*/) const {
    return nullptr;
  }
  virtual KernelLook kernel(store::ProcessId process, std::uint32_t local) const = 0;
  virtual store::FactId fact(store::ProcessId process, std::uint32_t local) const = 0;
};

}  // namespace castscope::timeline
