// Which casts are autocast's, in totals, headline and regions.
#pragma once

#include "agent/lanes/format.h"

namespace castscope::store {

// What cached_cast did, and what the package castscope does in its place where autocast is on.
constexpr bool is_autocasts(lanes::Cause cause) {
  return cause == lanes::Cause::kAutocast || cause == lanes::Cause::kAnnotation;
}

}  // namespace castscope::store
