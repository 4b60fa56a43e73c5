// Which casts are autocast's, in totals, headline and regions.
#pragma once

#include "agent/lanes/format.h"

namespace castscope::store {

// What cached_cast did, what TorchScript's graphs do in its place, and what the package castscope does where autocast
// is on.
constexpr bool is_autocasts(lanes::Cause cause) {
  return cause == lanes::Cause::kAutocast || cause == lanes::Cause::kScript || cause == lanes::Cause::kAnnotation;
}

}  // namespace castscope::store
