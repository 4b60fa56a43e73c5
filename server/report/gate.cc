#include "server/report/gate.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"

namespace castscope::report {
namespace {

// The number in front; `rest` is what follows it, without blanks.
std::optional<double> leading_number(std::string_view text, std::string_view& rest) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(value) || value < 0) return std::nullopt;
  rest = text.substr(static_cast<std::size_t>(end - text.data()));
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  return value;
}

void examine_limits(const Account& account, const Gate& gate, Verdict& verdict) {
  if (gate.max_cast_share) {
    Limit limit{"--max-cast-share", *gate.max_cast_share, {}};
    if (account.steps_ns > 0) limit.value = static_cast<double>(account.cpu_ns) / static_cast<double>(account.steps_ns);
    if (account.cpu_ns == 0) limit.value = 0;
    if (!limit.value)
      verdict.incomplete.emplace_back(
          "what share of the steps autocast's casts take cannot be told: the times of the steps are missing");
    verdict.limits.push_back(limit);
  }
  if (gate.max_cache_bytes) {
    verdict.limits.push_back(
        {"--max-cache", static_cast<double>(*gate.max_cache_bytes), static_cast<double>(account.cache_peak_bytes)});
  }
}

}  // namespace

Verdict examine(const Account& account, const Gate& gate, const Account* baseline) {
  Verdict verdict;
  std::set<std::string> before, now(account.fingerprints.begin(), account.fingerprints.end());
  if (baseline != nullptr) before.insert(baseline->fingerprints.begin(), baseline->fingerprints.end());
  for (std::size_t i = 0; i < account.findings.size(); ++i) {
    const bool grave = rules::place_of_severity(account.findings[i].severity) <= rules::place_of_severity(gate.fail_on);
    (before.contains(account.fingerprints[i]) ? verdict.known : grave ? verdict.failing : verdict.below).push_back(i);
  }
  for (std::size_t i = 0; baseline != nullptr && i < baseline->findings.size(); ++i) {
    if (!now.contains(baseline->fingerprints[i])) verdict.gone.push_back(i);
  }
  verdict.incomplete = why_incomplete(account);
  examine_limits(account, gate, verdict);
  const bool exceeded =
      std::any_of(verdict.limits.begin(), verdict.limits.end(), [](const Limit& limit) { return limit.exceeded(); });
  if (!account.damage.empty()) {
    verdict.outcome = Outcome::kIncomplete;
  } else if (!verdict.failing.empty() || exceeded) {
    verdict.outcome = Outcome::kFindings;
  } else if (!verdict.incomplete.empty() && !gate.allow_incomplete) {
    verdict.outcome = Outcome::kIncomplete;
  }
  return verdict;
}

std::optional<double> parse_share(std::string_view text) {
  std::string_view unit;
  const std::optional<double> value = leading_number(text, unit);
  if (!value) return std::nullopt;
  if (unit == "%") return *value <= 100 ? std::optional(*value / 100) : std::nullopt;
  // "1" may be meant as one percent, or as all of it.
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

}  // namespace castscope::report
