// Training in float16 without a scaler of which no gradient was looked at: on a GPU, or where no step was deep. How
// many gradients vanish is not known then; that nothing keeps them from it is.
//
// Better silent than wrong: a loss that is a product may be scaled by hand (`(loss * scale).backward()`), and so may
// gradients that are handed to backward. Weights that are float16 themselves are scaled by whoever keeps their masters.
#pragma once

#include <cstdint>
#include <optional>

#include "server/rules/evidence/amp_handle.h"
#include "server/store/run/run_data.h"

namespace castscope::rules {

struct UnmeasuredGradients {
  std::uint32_t stack = 0;               // where backward is called
  std::uint64_t backwards = 0;           // calls there
  std::uint64_t steps = 0;               // of optimizers, in the process
  std::uint64_t casts = 0;               // gradients that came back from float16 to float32
  std::optional<AmpHandle> handle = {};  // of the process
};

// Of one process; nothing where gradients were sampled, something scales them, or may do so, or where fewer optimizer
// steps were taken than `steps`.
std::optional<UnmeasuredGradients> unmeasured_gradients(const store::RunData&, std::uint32_t process,
                                                        std::uint64_t steps);

}  // namespace castscope::rules
