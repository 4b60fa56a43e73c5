// Reads amounts in the forms in which people write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace castscope::config {

// "5%", "0.05" → 0.05. Returns nothing when the text is not a share from 0 to 1, or when it is ambiguous: a number of 1
// or more needs its %.
std::optional<double> parse_share(std::string_view);
// "2GiB", "500 MB", "4096" → bytes; nothing when the text is not an amount of bytes.
std::optional<std::uint64_t> parse_bytes(std::string_view);

}  // namespace castscope::config
