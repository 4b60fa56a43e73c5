// Turns an operator's begin and end into the record of its use: what it was given, what it computed in, what it gave
// back, where that came from.
#pragma once

#include <ATen/core/ivalue.h>

#include "agent/operators/thread_operators.h"

namespace castscope::operators {

void begin_use(const agent::MayWait& may_wait, agent::ThreadState& t, ThreadOperators& o, OpenUse& use,
               const OperatorInfo& info, c10::ArrayRef<const c10::IValue> inputs);
// An operator within `outer` begins. Returns true when it is the same operator again, called by its autocast kernel
// with the cast arguments.
bool note_second_call(OpenUse& outer, const OperatorInfo& info, c10::ArrayRef<const c10::IValue> inputs);
// `outputs` is empty when the operator raised. Returns the use's number; 0 when it is not counted.
std::uint32_t end_use(agent::ThreadState& t, ThreadOperators& o, OpenUse& use, c10::ArrayRef<c10::IValue> outputs,
                      std::uint64_t ticks);
// An operator within `outer` ended, and gave back `returns` values: tensors that it made have no producer, even if an
// earlier tensor at the same address had one.
void forget_made_inside(ThreadOperators& o, const OpenUse& outer, c10::ArrayRef<c10::IValue> outputs,
                        std::size_t returns);
// Defines a use that is still open as far as it is known, without a result.
std::uint32_t define_open(agent::ThreadState& t, ThreadOperators& o, OpenUse& use);

}  // namespace castscope::operators
