// The qualified name of a function that runs, such as "Module._call_impl".
#pragma once

#include <string>

#include "agent/cpython/python_api.h"
#include "agent/cpython/python_stack.h"

namespace castscope::agent {

// The frame must be alive. From 3.11 on the code object has the name (co_qualname). Before, the class is found by the
// first argument: it is the first one, among its class and those above it, that holds a function of this code,
// decorated or not. Where that finds none, and for a function within another, the name alone comes back (co_name).
std::string qualified_name(const HeldGil& gil, const PythonApi& api, const RawFrame& frame);

}  // namespace castscope::agent
