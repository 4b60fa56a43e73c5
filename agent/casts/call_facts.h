// CallFacts describes a cast apart from where in the code it is made.
#pragma once

#include <cstdint>

#include "agent/lanes/format.h"

namespace castscope::agent {

// The hook fills it before it calls PyTorch.
struct CallFacts {
  std::uint8_t from = 0, to = 0, device = 0;
  lanes::Cause cause = lanes::Cause::kUnknown;
  lanes::Phase phase = lanes::Phase::kUnknown;
  lanes::WhyNotCached why = lanes::WhyNotCached::kNone;
  bool requires_grad = false, leaf = true, view = false, parameter = false, grad_mode = true;
  // In backward: the site of the cast whose gradient this one converts; 0 = not known. The hook mixes it
  // into the place of the CallKey.
  std::uint32_t forward_site = 0;

  std::uint64_t pack() const {
    return std::uint64_t{from} | std::uint64_t{to} << 8 | std::uint64_t{device} << 16 |
           static_cast<std::uint64_t>(cause) << 24 | static_cast<std::uint64_t>(phase) << 32 |
           static_cast<std::uint64_t>(why) << 40 |
           (std::uint64_t{requires_grad} | std::uint64_t{leaf} << 1 | std::uint64_t{view} << 2 |
            std::uint64_t{parameter} << 3 | std::uint64_t{grad_mode} << 4)
               << 48;
  }
};

}  // namespace castscope::agent
