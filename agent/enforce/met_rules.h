// Which rules of the policy have come to something in this process. The report tells of those that nothing met.
#pragma once

#include <string_view>

#include "agent/naming/definitions.h"

namespace castscope::enforce {

// Kind "module": its pattern; "operator": its name without overload; "function": "module:name"; "arguments": an
// operator's name and those of its arguments that hold tensors. Thread-safe; what was met before counts once.
void rule_met(std::string_view kind, std::string_view rule);
// A recording has begun: it knows of none yet.
void tell_rules_met(observe::Definitions&);

// Around fork(): no other thread is at it meanwhile.
void hold_rules_met();
void release_rules_met();

}  // namespace castscope::enforce
