// Groups the matrix products that a rule asks about by the line of code that calls for them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "server/rules/evidence/counts/device_time.h"
#include "server/rules/evidence/finding.h"

namespace castscope::rules {

struct ProductLine {
  const store::Matmul* matmul = nullptr;  // the first of the costliest use
  std::uint64_t ns = 0;                   // time of the operators' own kernels, of all uses of the line
  std::uint64_t times = 0;
};

// Returns the lines whose products `asked` accepts and that take at least `share` of the device's time. Products of no
// operator use stand on no line.
std::vector<ProductLine> product_lines(const store::RunData&, const DeviceTime&, double share,
                                       const std::function<bool(const store::Matmul&)>& asked);

// Returns the numbers that findings give about products: gpu_ns, share_of_gpu_percent, calls, gpu_steps.
using Numbers = decltype(store::Finding::evidence_number);
Numbers product_numbers(const DeviceTime&, std::uint64_t ns, std::uint64_t times);
// Returns "38 % of the GPU's time" or "<1 % …", the end of a title.
std::string part_of_time(const DeviceTime&, std::uint64_t ns);

}  // namespace castscope::rules
