// Knows how TorchScript's autocast pass treats an operator.
//
// Source: torch/csrc/jit/passes/autocast.cpp, handleBlock, of PyTorch 2.13.
#pragma once

#include <cstdint>
#include <string_view>

namespace castscope::rules {

enum class ScriptPolicy : std::uint8_t {
  kNone,      // it casts nothing for the operator
  kLowers,    // it casts to the region's dtype
  kHolds,     // it casts to float32
  kPromotes,  // it casts to float32, unless it knows that all arguments are of one low dtype
};

// `op` is written as it is recorded: "aten::add.Tensor".
ScriptPolicy script_policy(std::string_view op);

}  // namespace castscope::rules
