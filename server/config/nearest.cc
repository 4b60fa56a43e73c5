#include "server/config/nearest.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace castscope::config {
namespace {

std::string lower(std::string_view text) { return absl::AsciiStrToLower(absl::string_view(text.data(), text.size())); }

// How many letters they have in common at the beginning.
std::size_t alike(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

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
  const bool begins_alike = 3 * alike(written, name) >= 2 * written.size();
  return std::min<std::size_t>(begins_alike ? (written.size() + 1) / 2 : written.size() / 3, 3);
}

}  // namespace

std::optional<std::string> nearest(std::string_view as_written, std::span<const std::string_view> names) {
  constexpr std::size_t kLongest = 100, kWorthAPart = 4;
  if (as_written.empty() || as_written.size() > kLongest) return std::nullopt;
  const std::string written = lower(as_written);
  std::string_view best;
  std::size_t least = written.size(), most_alike = 0;
  for (const std::string_view as_it_is : names) {
    const std::string name = lower(as_it_is);
    // "stale-weight" for cache-stale-weight
    const bool part =
        written.size() >= kWorthAPart && 2 * written.size() >= name.size() && name.find(written) != std::string::npos;
    const std::size_t apart = part && name != written ? 1 : distance(written, name);
    if (apart > furthest(written, name) || apart > least) continue;
    // "off", not "on", for "of"
    if (apart == least && alike(written, name) <= most_alike) continue;
    least = apart, most_alike = alike(written, name), best = as_it_is;
  }
  if (best.empty()) return std::nullopt;
  return std::string(best);
}

std::string meant(std::string_view written, std::span<const std::string_view> names) {
  const auto suggestion = nearest(written, names);
  return suggestion ? absl::StrCat("; did you mean \"", *suggestion, "\"?") : "";
}

}  // namespace castscope::config
