// A cast of one argument: what is known of the tensor before, and what came of it.
#pragma once

#include "agent/torch/tensor_facts.h"
#include "agent/wiring/features.h"

namespace castscope::observe {

struct CastSource {
  Standing standing;
  bool parameter = false;  // a torch.nn.Parameter, or a view of one
  bool grad_mode = true;
  bool inference_mode = false;
  bool cache_enabled = true;  // by the autocast region
};

// castscope's own cache fills it. With both false the cache had the copy already.
struct CastOutcome {
  bool converted = false, kept = false;
  Held gone;  // let go of for the new one: its old copy, those of weights that are gone or not used any more
};

}  // namespace castscope::observe
