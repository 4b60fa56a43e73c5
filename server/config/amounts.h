// Amounts as people write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace castscope::config {

// "5%", "0.05" → 0.05; nothing when it is no share from 0 to 1, or may be two: what is 1 or more needs its %.
std::optional<double> parse_share(std::string_view);
// "2GiB", "500 MB", "4096" → bytes; nothing when it is none.
std::optional<std::uint64_t> parse_bytes(std::string_view);

}  // namespace castscope::config
