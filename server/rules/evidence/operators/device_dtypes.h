// What autocast of other devices would make of an operator: PyTorch has a list for each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/store/run/run_data.h"

namespace castscope::rules {

struct DeviceDtype {
  std::string_view device;  // "cuda"
  std::uint8_t dtype;       // c10::ScalarType
};

// The devices on which it would compute in another dtype than here, given the same arguments in a region of the same
// dtype. None where no region of its device is switched on.
std::vector<DeviceDtype> computes_elsewhere(const store::RunData&, const store::OperatorUse&);

}  // namespace castscope::rules
