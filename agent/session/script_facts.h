// Facts whose place is in scripted code.
#pragma once

#include <cstdint>
#include <vector>

#include "agent/cpython/code_line.h"
#include "agent/session/facts.h"

namespace castscope::agent {

// May be called under a lock of PyTorch: the callers in Python are told only where their code is known.
void note_script_fact(FactSeen seen, const std::vector<CodeLine>& place) noexcept;

// The definition of these lines, and of the Python code that calls them.
std::uint32_t script_stack(const MayWait& may_wait, ThreadState& t, const std::vector<CodeLine>& place);

}  // namespace castscope::agent
