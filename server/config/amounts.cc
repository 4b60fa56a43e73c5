#include "server/config/amounts.h"

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <string>
#include <utility>

namespace castscope::config {
namespace {

// Reads the number at the beginning; `rest` is the text after it, without blanks.
std::optional<double> leading_number(std::string_view text, std::string_view& rest) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(value) || value < 0) return std::nullopt;
  rest = text.substr(static_cast<std::size_t>(end - text.data()));
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  return value;
}

}  // namespace

std::optional<double> parse_share(std::string_view text) {
  std::string_view unit;
  const std::optional<double> value = leading_number(text, unit);
  if (!value) return std::nullopt;
  if (unit == "%") return *value <= 100 ? std::optional(*value / 100) : std::nullopt;
  // "1" may mean one percent, or all of it.
  return unit.empty() && *value < 1 ? value : std::nullopt;
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  std::string_view unit;
  const std::optional<double> value = leading_number(text, unit);
  if (!value) return std::nullopt;
  constexpr std::array<std::pair<std::string_view, double>, 12> kUnits = {{{"", 1},
                                                                           {"b", 1},
                                                                           {"bytes", 1},
                                                                           {"kb", 1e3},
                                                                           {"mb", 1e6},
                                                                           {"gb", 1e9},
                                                                           {"tb", 1e12},
                                                                           {"kib", 0x1p10},
                                                                           {"mib", 0x1p20},
                                                                           {"gib", 0x1p30},
                                                                           {"tib", 0x1p40},
                                                                           {"byte", 1}}};
  std::string lower(unit);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const auto& [name, factor] : kUnits) {
    const double bytes = *value * factor;
    if (name == lower && bytes < 0x1p63) return static_cast<std::uint64_t>(bytes);
  }
  return std::nullopt;
}

}  // namespace castscope::config
