// Parses the text of a module's pattern (pattern.h) into its automaton.
#pragma once

#include <string>

#include "agent/enforce/decided/pattern_automaton.h"

namespace castscope::enforce::automaton {

// Returns false, and says why in `error`, when the text is not a pattern.
bool parse(std::u32string text, Automaton& into, std::string* error);

}  // namespace castscope::enforce::automaton
