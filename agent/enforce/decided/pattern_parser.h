// The text of a module's pattern (pattern.h) → its automaton.
#pragma once

#include <string>

#include "agent/enforce/decided/pattern_automaton.h"

namespace castscope::enforce::automaton {

// False, and why in `error`, when the text is no pattern.
bool parse(std::u32string text, Automaton& into, std::string* error);

}  // namespace castscope::enforce::automaton
