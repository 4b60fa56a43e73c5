// A cast of one argument: what is known of the tensor before the cast, and the outcome.
#pragma once

#include "agent/torch/tensor_facts.h"
#include "agent/wiring/features.h"

namespace castscope::agent {

struct CastSource {
  Standing standing;
  bool parameter = false;  // a torch.nn.Parameter, or a view of one
  bool grad_mode = true;
  bool inference_mode = false;
  bool cache_enabled = true;  // whether the autocast region has the cache on
};

// castscope's own cache fills this in. With both false, the cache had the copy already.
struct CastOutcome {
  bool converted = false, kept = false;
  // The cache drops these when it keeps the new copy: the old one, and copies of weights that are gone or unused.
  CacheContents gone;
};

}  // namespace castscope::agent
