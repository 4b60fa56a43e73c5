// Knows the operators for which PyTorch has no kernel in low precision: where autocast does not bring their arguments
// to float32, they raise.
#pragma once

#include <cstdint>
#include <string_view>

namespace castscope::rules {

// Returns whether the operator ("aten::fft_fft") is known to raise on this device when it is given this low dtype.
// Operators that are not known, and those on other devices than the CPU, are taken to work.
bool raises_in(std::string_view op, std::uint8_t device, std::uint8_t dtype);

}  // namespace castscope::rules
