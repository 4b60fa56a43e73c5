// Ranges of values, as events (lanes::EventKind::kValues). Ranges leave the process, values do not.
#pragma once

#include <c10/core/ScalarType.h>
#include <c10/core/TensorImpl.h>

#include "agent/operators/value_sample.h"
#include "agent/session/thread_state.h"

namespace castscope::operators {

// Looks at dense memory on the CPU only: reading any other would cost, or run code. `number`: the cast site or the
// operator use; `to`: the dtype that it is cast to, std::nullopt if it is not cast.
void note_values(agent::ThreadState& t, const c10::TensorImpl* tensor, std::uint32_t number,
                 std::optional<c10::ScalarType> to);

// A sample of a tensor of integers, in the same way; nothing is sampled of any other tensor.
ValueSample sample_of_integers(const c10::TensorImpl* tensor);
// A sample of a tensor in float16 or bfloat16.
ValueSample sample_of_half(const c10::TensorImpl* tensor);
// Tells a sample of integers that this operator use brought to this half. Nothing is told of an empty one.
void note_integers(agent::ThreadState& t, const ValueSample& sample, std::uint32_t use, c10::ScalarType half);

// Whether the cast is to fewer bits, or to as many bits with another split between exponent and mantissa (float16,
// bfloat16).
bool is_down_cast(c10::ScalarType from, c10::ScalarType to);

}  // namespace castscope::operators
