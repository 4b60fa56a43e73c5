// Gradient scaling and optimizer steps, as events with a place. GradScaler is Python: its operators are hooked, what
// has none of its own is told by the code that runs (deep steps only).
#pragma once

#include "agent/interposed/interface.h"
#include "agent/lanes/definition_records.h"
#include "agent/naming/definitions.h"

namespace c10 {
struct TensorImpl;
}

namespace castscope::observe {

struct ThreadState;

// The function to put into the slot; nullptr when it is no hook of these.
void* scaling_hook(castscope_hook hook);

// An optimizer step (RecordFunction user scope "Optimizer.step#…") begins, and ended.
void user_scope_begins(const char* name);
void user_scope_ended(const char* name);

// What an operator called at this place does to the scale or to gradients: kScale, kUpdate, kClip, or kUnknown.
// `op`: "aten::mul".
lanes::FactKind scaling_at(const Definitions::Place& innermost, std::string_view op, bool writes);
// A Python number, as a tensor that operators are given, that is infinite.
bool is_infinite_number(const c10::TensorImpl*);
// That it does so now.
void note_scaling(ThreadState& t, lanes::FactKind kind);

}  // namespace castscope::observe
