// Gradient scaling and optimizer steps, as events with a place. GradScaler is Python: its operators are hooked; actions
// without an operator of their own are told by the code that runs (deep steps only).
#pragma once

#include "agent/interposed/interface.h"
#include "agent/lanes/definition_records.h"
#include "agent/naming/definitions.h"

namespace c10 {
struct TensorImpl;
}

namespace castscope::agent {

struct ThreadState;

// The function to put into the hook's slot; nullptr when the hook is not one of these.
void* scaling_hook(castscope_hook hook);

// An optimizer step (RecordFunction user scope "Optimizer.step#…") begins; it has ended.
void user_scope_begins(const char* name);
void user_scope_ended(const char* name);

// The effect that an operator called at this place has on the scale or on gradients: kScale, kUpdate, kClip, or
// kUnknown. `op`: "aten::mul".
lanes::FactKind scaling_at(const Definitions::Place& innermost, std::string_view op, bool writes);
// Whether the tensor is an infinite Python number, in the form in which operators get numbers.
bool is_infinite_number(const c10::TensorImpl*);
// Notes that an operator has this effect now.
void note_scaling(const MayWait& may_wait, ThreadState& t, lanes::FactKind kind);

}  // namespace castscope::agent
