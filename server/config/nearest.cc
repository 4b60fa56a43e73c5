#include "server/config/nearest.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"

namespace castscope::config {
namespace {

// The number of letters to insert, remove, change or swap with their neighbour ("optimal string alignment").
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> two_before(b.size() + 1), before(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    two_before.swap(before);
    before.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({before[j - 1] + (a[i - 1] != b[j - 1]), before[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], two_before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

// A guess that is further away is one that nobody meant. "entry" and "entries" are three letters apart, but begin
// alike.
std::size_t furthest(std::string_view written, std::string_view name) {
  const auto alike = std::mismatch(written.begin(), written.end(), name.begin(), name.end()).first - written.begin();
  const bool begins_alike = 3 * static_cast<std::size_t>(alike) >= 2 * written.size();
  return std::min<std::size_t>((written.size() + 1) / (begins_alike ? 2 : 3), 3);
}

}  // namespace

std::optional<std::string> nearest(std::string_view written, std::span<const std::string_view> names) {
  constexpr std::size_t kLongest = 100, kWorthAPart = 4;
  if (written.empty() || written.size() > kLongest) return std::nullopt;
  std::string_view best;
  std::size_t least = written.size();
  for (const std::string_view name : names) {
    // "stale-weight" for cache-stale-weight
    const bool part = written.size() >= kWorthAPart && 2 * written.size() >= name.size() &&
                      name.find(written) != std::string_view::npos;
    const std::size_t apart = part ? 1 : distance(written, name);
    if (apart < least && apart <= furthest(written, name)) least = apart, best = name;
  }
  if (best.empty()) return std::nullopt;
  return std::string(best);
}

std::string meant(std::string_view written, std::span<const std::string_view> names) {
  const auto suggestion = nearest(written, names);
  return suggestion ? absl::StrCat("; did you mean \"", *suggestion, "\"?") : "";
}

}  // namespace castscope::config
