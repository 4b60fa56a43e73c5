// Tells which of the tensors that autocast casts are weights whose copies may be kept, and how.
#pragma once

#include <cstdint>

#include "agent/casts/cast_request.h"

namespace castscope::enforce {

enum class Kind : std::uint8_t {
  kNone,     // not a weight, or nothing that can be kept: PyTorch's own cached_cast makes the copy
  kLeaf,     // PyTorch's cache keeps it: one copy with one place in the graph for a whole region
  kShared,   // like kLeaf, while a mode, a tracer or a functorch level is active: PyTorch makes the copy
  kFrozen,   // requires no gradient: a copy without history
  kDerived,  // a view of a weight, or one that was computed: its copy gets a new place in the graph at each use
};

using Source = agent::CastSource;

// The policy's options for keeping copies; the defaults are castscope's.
struct Keeping {
  bool enabled = true, frozen = true, views = true, nonleaf = false;
};

inline Kind kind_of(const Source& s, const Keeping& keeping) {
  if (!s.cache_enabled || !keeping.enabled) return Kind::kNone;
  const agent::Standing& t = s.standing;
  if (t.requires_grad && !t.leaf) {
    const bool wanted = t.view && s.parameter ? keeping.views : keeping.nonleaf && !t.view;
    return wanted ? Kind::kDerived : Kind::kNone;
  }
  if (t.view) return s.parameter && keeping.views ? Kind::kDerived : Kind::kNone;
  if (!t.requires_grad) return s.parameter && keeping.frozen ? Kind::kFrozen : Kind::kNone;
  return s.inference_mode ? (s.parameter ? Kind::kFrozen : Kind::kNone) : Kind::kLeaf;
}

}  // namespace castscope::enforce
