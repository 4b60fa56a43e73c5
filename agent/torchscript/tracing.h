// The regions that torch.jit.trace forgets, and the casts that it records. No torch header here.
#pragma once

#include <cstdint>
#include <string_view>

#include "agent/torchscript/node_facts.h"

namespace castscope::script {

// Whether torch.jit.trace records what this thread does.
bool is_tracing();
// Called while it does: eager autocast made this cast; a region was entered; a region is left.
void cast_traced(std::string_view op, std::uint32_t argument, std::string_view argument_name);
void region_entered_in_trace(std::uint32_t serial);
// Returns whether scripted code was called in the region; for that code the region does not exist then.
bool region_left_in_trace(std::uint32_t serial, const Region& region);

}  // namespace castscope::script
