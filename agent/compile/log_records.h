// What PyTorch's structured log tells of a compilation, as it comes.
#pragma once

#include <string_view>
#include <vector>

#include "agent/compile/trace_log.h"

namespace castscope::compile {

void take_logged(const Compilation& of, Logged what, std::string_view text,
                 const std::vector<CodeLine>& stack) noexcept;

}  // namespace castscope::compile
