// Casts that a script's graph has before an operator: TorchScript's autocast puts them there, and eager autocast does
// where code is traced. Eager code makes them inside the operator. So that the operators of both can be compared, such
// a cast is not an operator use here either: the operator gets the tensor from before the cast, which enters in the
// dtype of the copy. In backward a conversion is a node of its own in eager code, too, and stays a use.
#pragma once

#include <optional>

#include "agent/operators/thread_operators.h"

namespace castscope::operators {

// `use` is an operator that has ended. If it is a cast that the graph put before another operator, this returns the
// role of the tensor that was cast; else nullopt.
std::optional<lanes::Role> role_of_script_cast(const OpenUse&);
// Returns what is known of the copy that such a cast made. It reads `from` alone and no tensor, because TorchScript may
// have freed the tensor by then.
Producer cast_copy(const GivenTensor& from, lanes::Role, std::uint8_t dtype);
// Changes `given`, whose producer tells what it was before its cast, back to that. Returns whether it required a
// gradient.
bool look_before_cast(GivenTensor& given);

}  // namespace castscope::operators
