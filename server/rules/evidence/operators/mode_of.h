// In which mode of PyTorch an operator ran, as a deep step or a compiled graph tells it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "server/store/run/run_data.h"

namespace castscope::rules {

enum class Mode : std::uint8_t { kEager, kScript, kTrace, kCompile, kExport };
inline constexpr std::array<std::string_view, 5> kModeNames = {"eager", "script", "trace", "compile", "export"};

// None: it ran only to be recorded, by torch.jit.trace, or as part of what Inductor generated, whose graph tells it.
std::optional<Mode> mode_of(const store::RunData&, const store::OperatorUse&);

}  // namespace castscope::rules
