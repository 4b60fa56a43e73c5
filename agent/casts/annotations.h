// The casts of the package castscope (half_function, float_function, force_fp32, …). The package announces each cast
// before it makes it, with the annotated function and the argument, and each copy of a weight that it serves again.
#pragma once

#include <cstdint>

#include "agent/casts/sites.h"
#include "agent/session/process.h"

namespace castscope::agent {

// The package is about to cast `tensor` (a TensorImpl) to `to` (c10::ScalarType), or serves a copy that it has.
struct AnnotatedCast {
  const char* function;
  const char* argument;  // "" = not known
  std::uint32_t position;
  const void* tensor;
  std::uint8_t to;
  bool served;
  bool keeps_weights;  // castscope.amp's handle has weights cast once per iteration
};
void annotated_cast_begins(const AnnotatedCast&);
void annotated_cast_ends();

// Says whether this conversion is the announced one. An announcement holds for one conversion.
inline bool take_annotated(ThreadState& t, const void* source, std::uint8_t to, Counted& counted) {
  Annotated& a = t.annotated;
  if (a.source == nullptr || a.source != source || a.to != to) [[likely]]
    return false;
  counted = {a.counter, a.site};
  a.source = nullptr;
  return true;
}

}  // namespace castscope::agent
