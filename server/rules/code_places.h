// Where in the code an operator was called, beyond its line: in which method of an autograd Function it runs, and which
// spot of a module it is, so that the same code is known again when it is entered from elsewhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

#include "server/rules/uses.h"

namespace castscope::rules {

// A method of a torch.autograd.Function: of the innermost one on a stack.
struct FunctionMethod {
  enum class Kind : std::uint8_t { kNone, kForward, kBackward };
  Kind kind = Kind::kNone;
  // "make.<locals>.Product"; "" for a Function of PyTorch's own, or one whose methods are no methods of a class.
  std::string file, owner;
  std::int64_t line = 0;  // that runs, in the method itself
};
FunctionMethod function_method(const store::RunData&, std::uint32_t stack);
// "Product" of "make.<locals>.Product".
std::string_view last_name(std::string_view qualified);

// The code of an operator's call as far out as the call of the innermost module, or to the user's line where there is
// none: equal for calls of the same code, whatever stands around it. (A module, the operator, lines.)
using Spot = std::tuple<std::uint32_t, std::string, std::string>;
Spot spot_of(const store::RunData&, const store::OperatorUse&);

// Where PyTorch calls a module: its frame.
bool is_module_call(const store::RunData&, const store::CodeLocation& frame);
// The autograd engine called it for a node of PyTorch's own: no line of Python did.
bool called_by_engine(const store::RunData&, const store::OperatorUse&);
// An enabled autocast region of its device is in force.
bool in_autocast(const store::RunData&, const store::OperatorUse&);
// Some frame of PyTorch's own on this stack lies in this part of the package ("jit/").
bool is_within_torch(const store::RunData&, std::uint32_t stack, std::string_view part);

std::string operator_name(std::string_view op);  // short_name
// A product of matrices or a convolution: what autocast was made to speed up, on every device.
bool is_product(std::string_view op);
// Autocast made halves of float32 arguments: here, or inside (einsum).
bool is_cast_down(const store::RunData&, const store::OperatorUse&);

// "train.py:12", relative to the run's folder.
std::string place_text(const store::RunData&, const store::CodeLocation&);

}  // namespace castscope::rules
