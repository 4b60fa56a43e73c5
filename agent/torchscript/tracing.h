// What torch.jit.trace forgets, and the casts that it records. No torch header here.
#pragma once

#include <cstdint>
#include <string_view>

#include "agent/torchscript/node_facts.h"

namespace castscope::script {

// torch.jit.trace records what this thread does.
bool is_tracing();
// While it does: eager autocast made this cast; a region was entered, and is left.
void cast_traced(std::string_view op, std::uint32_t argument, std::string_view argument_name);
void region_entered_in_trace(std::uint32_t serial);
// Whether scripted code was called in it, for which there is no region then.
bool region_left_in_trace(std::uint32_t serial, const Region& region);

}  // namespace castscope::script
