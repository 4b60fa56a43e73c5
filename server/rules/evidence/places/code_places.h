// Says where in the code an operator was called, beyond its line: in which method of an autograd Function, and at which
// spot of a module, so that the same code is recognised when it is entered from elsewhere.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "server/store/run/run_data.h"

namespace castscope::rules {

// The innermost method of a torch.autograd.Function on a stack.
struct FunctionMethod {
  enum class Kind : std::uint8_t { kNone, kForward, kBackward };
  Kind kind = Kind::kNone;
  // "make.<locals>.Product"; "" for a Function of PyTorch's own, or one whose methods are not methods of a class.
  std::string file, owner;
};
// The job's own Functions, by file and last name of the class: the engine was seen to call their backward.
using OwnFunctionNames = std::set<std::pair<std::string, std::string>>;
OwnFunctionNames own_function_names(const store::RunData&);
FunctionMethod function_method(const store::RunData&, store::StackId stack, const OwnFunctionNames& = {});

// The code of an operator's call, outwards to the call of the innermost module, or to the user's line where there is no
// module: it is equal for calls of the same code, whatever called that. (A module, the operator, lines.)
using Spot = std::tuple<store::ModuleId, std::string, std::string>;
Spot spot_of(const store::RunData&, const store::OperatorUse&);

// The autograd engine called the operator for a node of PyTorch's own, and no line of Python did.
bool called_by_engine(const store::RunData&, const store::OperatorUse&);

}  // namespace castscope::rules
