// Matrix products that a rule asks about, put together by the line of code that calls for them.
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
  std::uint64_t ns = 0;                   // that the operators' own kernels took, of all uses of the line
  std::uint64_t times = 0;
};

// Of the products that are `asked` about, the lines that take at least `share` of the device's time. Products of no
// operator use stand on no line.
std::vector<ProductLine> product_lines(const store::RunData&, const DeviceTime&, double share,
                                       const std::function<bool(const store::Matmul&)>& asked);

// What findings tell of such: device_ns, share_percent, products, timed_steps.
using Numbers = decltype(store::Finding::evidence_number);
Numbers product_numbers(const DeviceTime&, std::uint64_t ns, std::uint64_t times);
// "38 % of the GPU's time", "<1 % …": as titles end.
std::string part_of_time(const DeviceTime&, std::uint64_t ns);

}  // namespace castscope::rules
