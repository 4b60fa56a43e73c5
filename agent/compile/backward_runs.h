// Tells which compiled region a backward node belongs to: the forward pass made the node, in this thread, after the
// region began (its sequence number tells) and before the next one did.
#pragma once

#include <string_view>

#include "agent/cpython/python_api.h"

namespace castscope::compile {

// Called in the thread that calls the region, before the region runs.
void expect_backward_of(std::string_view id);

// Whether this thread is evaluating the backward node of a compiled region.
bool in_backward_graph(const agent::MayWait& may_wait) noexcept;

void hold_backward_runs();
void release_backward_runs();

}  // namespace castscope::compile
