// Finds the mode of PyTorch in which an operator ran, as a deep step or a compiled graph shows it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "server/store/run/run_data.h"

namespace castscope::rules {

enum class Mode : std::uint8_t { kEager, kScript, kTrace, kCompile, kExport };
inline constexpr std::array<std::string_view, 5> kModeNames = {"eager", "script", "trace", "compile", "export"};

// Returns nothing when torch.jit.trace ran it only to record it, or when it ran as part of code that Inductor
// generated, whose graph records it.
std::optional<Mode> mode_of(const store::RunData&, const store::OperatorUse&);

}  // namespace castscope::rules
