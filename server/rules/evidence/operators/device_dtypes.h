// Answers in which dtype autocast of other devices would run an operator: PyTorch has a list for each.
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

// Returns the devices on which the operator would compute in another dtype than here, given the same arguments in a
// region of the same dtype; none where no region of its device is switched on.
std::vector<DeviceDtype> computes_elsewhere(const store::RunData&, const store::OperatorUse&);

}  // namespace castscope::rules
