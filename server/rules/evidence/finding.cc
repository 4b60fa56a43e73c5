#include "server/rules/evidence/finding.h"

#include <cstdio>

namespace castscope::rules {

std::string readable_bytes(std::uint64_t bytes) {
  const char* const units[] = {"bytes", "kB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1000 && unit < 4; ++unit) value /= 1000;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
  return text;
}

std::string readable_number(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", number);
  return text;
}

std::string counted(std::uint64_t n, std::string_view singular) {
  std::string text = std::to_string(n) + " ";
  text += singular;
  return n == 1 ? text : text + "s";
}

void add_related(Finding& finding, const store::RunData& data, store::StackId stack) {
  if (const auto at = data.user_location(stack)) finding.related.push_back(*at);
}

}  // namespace castscope::rules
