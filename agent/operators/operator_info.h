// The facts about an operator in its schema and in the dispatcher's tables, found once.
//
// Sources: aten/src/ATen/core/{function_schema,alias_info}.h, dispatch/OperatorEntry.h of the PyTorch that the agent is
// built against.
#pragma once

#include <ATen/core/function_schema.h>
#include <c10/core/DispatchKeySet.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/memory/own_memory.h"

namespace castscope::operators {

struct OperatorInfo : memory::InOwnMemory {
  enum class Kind : std::uint8_t {
    kUse,
    kConversion,  // to, _to_copy, …: a use where the dtype changes, else as kSame
    kSame,        // gives back the values of its first argument, in its dtype: a view, a copy
    kIgnored,     // says nothing of precision
  };
  Kind kind = Kind::kUse;
  bool own = false;         // PyTorch's own ("aten::"); any other operator may have a body in Python
  std::uint16_t flags = 0;  // lanes::kUse…: flags that hold for every call
  int dtype_argument = -1;  // position of the argument `dtype`
  std::string name;         // "aten::add.Tensor"
  std::string base;         // "aten::add"
  std::vector<std::string> arguments;
  std::size_t returns = 0;
  std::uint64_t boxes = 0;       // bit = position of an argument that is named boxes, rois, …
  c10::DispatchKeySet autocast;  // keys on which it has a kernel
  c10::DispatchKeySet sibling;   // keys on which its functional out-of-place form has one, if that is another form
};

// Lives as long as the process. Thread-safe.
const OperatorInfo& operator_info(const c10::FunctionSchema& schema);
// Called in a forked child: the thread that held the lock may not exist there.
void operator_info_after_fork();

// "aten::add_" → "aten::add"; "" for a name that is not in-place.
std::string functional_name(std::string_view base);

}  // namespace castscope::operators
