// Arguments that arrive where something keeps them from being cast, or casts them to float32: annotations of the
// package castscope, a policy's never_cast. They are counted as facts (lanes::FactKind::kArgumentArrived).
#pragma once

#include <cstdint>
#include <string_view>

#include "agent/cpython/python_api.h"

namespace castscope::agent {

// `text`: function, argument and annotation, separated by tabs; `detail` is what the kind says. Called in the thread
// that makes the call.
void argument_arrived(const MayWait& may_wait, std::string_view text, std::uint16_t detail) noexcept;

}  // namespace castscope::agent
