// Arguments that arrive where something keeps them from being cast, or casts them to float32: annotations of the
// package castscope, a policy's never_cast. Counted as facts (lanes::FactKind::kArgumentArrived).
#pragma once

#include <cstdint>
#include <string_view>

namespace castscope::observe {

// `text`: function, argument and annotation, parted by tabs; `detail` as the kind says. In the thread that calls.
void argument_arrived(std::string_view text, std::uint16_t detail) noexcept;

}  // namespace castscope::observe
