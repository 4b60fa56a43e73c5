// Finds training in float16 without a scaler in which no gradient was sampled: on a GPU, or where no step was deep. The
// number of gradients that vanish is not known then, but nothing keeps them from vanishing.
//
// It is silent rather than wrong: a loss that is a product may be scaled by hand (`(loss * scale).backward()`), and so
// may gradients that are handed to backward. Weights that are float16 themselves are scaled by the code that keeps
// their float32 masters.
#pragma once

#include <cstdint>
#include <optional>

#include "server/rules/evidence/amp_handle.h"
#include "server/store/run/run_data.h"

namespace castscope::rules {

struct UnmeasuredGradients {
  store::StackId stack = {};             // the call of backward
  std::uint64_t backwards = 0;           // calls there
  std::uint64_t steps = 0;               // steps of optimizers, in the process
  std::uint64_t casts = 0;               // gradients that came back from float16 to float32
  std::optional<AmpHandle> handle = {};  // of the process
};

// Returns the gradients of one process; nothing where gradients were sampled, where something scales them, or may do
// so, or where there were fewer optimizer steps than `steps`.
std::optional<UnmeasuredGradients> unmeasured_gradients(const store::RunData&, store::ProcessId process,
                                                        std::uint64_t steps);

}  // namespace castscope::rules
