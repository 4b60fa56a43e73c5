// Counts the tensors that one call converts together, where no call of its own stands for each.
#pragma once

#include <cstdint>

#include "agent/casts/sites.h"
#include "agent/memory/own_memory.h"
#include "agent/torch/tensor_facts.h"

namespace castscope::agent {

// One tensor that the call is about to convert.
struct ConvertedTensor {
  const TensorImpl* source;
  ScalarType to;
  Counted counted;
  std::uint64_t bytes;  // bytes of its copy
  std::uint8_t flags;   // flags of its event
};
using ConvertedTensors = memory::OwnVector<ConvertedTensor>;

// Returns true if copying the tensor to a tensor of the dtype `to` converts it: both dtypes are floating, and they
// differ.
bool is_converted(const at::Tensor& tensor, ScalarType to);

// Names the site of the tensor, before the call.
ConvertedTensor converted_tensor(ThreadState& t, const at::Tensor& tensor, ScalarType to, lanes::Cause cause,
                                 std::uint32_t region, const void* caller);

// Each tensor counts as a cast of its own, so that steps differ by how many casts they had. Nothing measures the time
// between two of them: the time of the call is shared out as evenly as it goes.
void count_converted(ThreadState& t, const ConvertedTensors& tensors, std::uint64_t begin, std::uint64_t ticks);

}  // namespace castscope::agent
