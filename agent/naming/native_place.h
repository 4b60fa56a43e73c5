// Finds from the native call stack why a conversion outside cached_cast happened, and which operator made it. Call it
// only at the first sight of a site: it unwinds.
#pragma once

#include <string>

#include "agent/lanes/format.h"
#include "agent/naming/definitions.h"
#include "agent/naming/native_functions.h"

namespace castscope::agent {

struct NativePlace {
  lanes::Cause cause = lanes::Cause::kUnknown;
  std::string op;  // "aten::add.Tensor"; "" = not known
};

// `caller`: return address of the outermost at::_ops::to_*::call, or of _to_copy::call if there was none. `innermost`:
// the innermost Python frame. `below_autocast`: autocast is on in this thread, but its key is excluded: the call comes
// from inside an autocast kernel. `boxed`: the dispatcher called the kernel of _to_copy.
NativePlace native_place(NativeFunctions& functions, const void* caller, const Definitions::Place& innermost,
                         lanes::Phase phase, bool below_autocast, bool boxed);

}  // namespace castscope::agent
