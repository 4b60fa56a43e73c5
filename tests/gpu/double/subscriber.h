// CUPTI's single seat: who has subscribed, what the subscriber asked for, and its callbacks.
#pragma once

#include <cupti.h>

#include <cstdint>

#include "device.h"
#include "graph.h"

namespace nogpu {

inline constexpr uint32_t kMostCallbackIds = 2048;

// Whether the subscriber wants this callback. It is asked at every API call, so it takes no lock.
bool wants_callback(CUpti_CallbackDomain domain, CUpti_CallbackId id);
void call_subscriber(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data);
// Takes the seat from its holder: cuptiFinalize.
void clear_seat();
bool seat_is_taken();

void tell_context_created(Context* context);
void tell_graph_node_created(GraphNode* node);
void tell_graph_node_cloned(GraphNode* original, GraphNode* clone, GraphExec* exec);

}  // namespace nogpu
