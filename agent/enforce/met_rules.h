// Which rules of the policy matched something in this process. The report lists the rules that matched nothing.
#pragma once

#include <string_view>

#include "agent/naming/definitions.h"

namespace castscope::enforce {

// Kind "module": its pattern; "operator": its name without overload; "function": "module:name"; "arguments": an
// operator's name and those of its arguments that hold tensors. Thread-safe; a rule that was met before is not counted
// again.
void rule_met(std::string_view kind, std::string_view rule);
// A recording has begun: tells it all rules that were met so far.
void tell_rules_met(agent::Definitions&);

// Called around fork(): no other thread works on the rules meanwhile.
void hold_rules_met();
void release_rules_met();

}  // namespace castscope::enforce
