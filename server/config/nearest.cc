#include "server/config/nearest.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"

namespace castscope::config {
namespace {

// The number of letters to insert, remove or change.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::optional<std::string> nearest(std::string_view written, std::span<const std::string_view> names) {
  constexpr std::size_t kLongest = 100, kWorthAPart = 4;
  if (written.empty() || written.size() > kLongest) return std::nullopt;
  std::string_view best;
  std::size_t least = std::min<std::size_t>((written.size() + 1) / 2, 4) + 1;
  for (const std::string_view name : names) {
    // "stale-weight" for cache-stale-weight
    const bool part = written.size() >= kWorthAPart && name.find(written) != std::string_view::npos;
    const std::size_t apart = part ? 1 : distance(written, name);
    if (apart < least) least = apart, best = name;
  }
  if (best.empty()) return std::nullopt;
  return std::string(best);
}

std::string meant(std::string_view written, std::span<const std::string_view> names) {
  const auto suggestion = nearest(written, names);
  return suggestion ? absl::StrCat("; did you mean \"", *suggestion, "\"?") : "";
}

}  // namespace castscope::config
