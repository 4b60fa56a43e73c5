// Takes in the records that PyTorch's structured log holds about a compilation, as they come.
#pragma once

#include <string_view>
#include <vector>

#include "agent/compile/trace_log.h"

namespace castscope::compile {

void take_logged(const agent::HeldGil& gil, const Compilation& of, Logged what, std::string_view text,
                 const std::vector<CodeLine>& stack) noexcept;

}  // namespace castscope::compile
