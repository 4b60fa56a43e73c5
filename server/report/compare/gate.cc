#include "server/report/compare/gate.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "server/report/text/words.h"

namespace castscope::report {
namespace {

void examine_limits(const Account& account, const Gate& gate, Verdict& verdict) {
  if (gate.max_cast_share) {
    Limit limit{"--max-cast-share", *gate.max_cast_share, {}};
    if (account.steps_ns > 0) limit.value = static_cast<double>(account.cpu_ns) / static_cast<double>(account.steps_ns);
    if (account.cpu_ns == 0) limit.value = 0;
    if (!limit.value)
      verdict.incomplete.emplace_back(
          "the share of the steps' time that autocast's casts take is not known: the times of the steps are missing");
    verdict.limits.push_back(limit);
  }
  if (gate.max_cache_bytes) {
    verdict.limits.push_back(
        {"--max-cache", static_cast<double>(*gate.max_cache_bytes), static_cast<double>(account.cache_peak_bytes)});
  }
}

bool is_judged(const Account& account, const Account* baseline, const Verdict& verdict) {
  return account.unjudged.empty() && (baseline == nullptr || baseline->unjudged.empty()) &&
         verdict.unseen_before.empty();
}

}  // namespace

Verdict examine(const Account& account, const Gate& gate, const Account* baseline) {
  Verdict verdict;
  std::set<std::string> before, now(account.fingerprints.begin(), account.fingerprints.end());
  if (baseline != nullptr) before.insert(baseline->fingerprints.begin(), baseline->fingerprints.end());
  for (std::size_t i = 0; i < account.findings.size(); ++i) {
    const bool grave = rules::place_of_severity(account.findings[i].severity) <= rules::place_of_severity(gate.fail_on);
    const bool known = before.contains(account.fingerprints[i]);
    const bool is_compared = known || baseline == nullptr || could_find(*baseline, account, account.findings[i]);
    (known          ? verdict.known
     : !is_compared ? verdict.unseen_before
     : grave        ? verdict.failing
                    : verdict.below)
        .push_back(i);
  }
  for (std::size_t i = 0; baseline != nullptr && i < baseline->findings.size(); ++i) {
    if (now.contains(baseline->fingerprints[i])) continue;
    (could_find(account, *baseline, baseline->findings[i]) ? verdict.gone : verdict.unseen_now).push_back(i);
  }
  verdict.incomplete = why_incomplete(account);
  if (baseline != nullptr && baseline->processes > 0) {
    verdict.baseline_incomplete = why_incomplete(*baseline);
    if (const auto differ = how_steps_differ(*baseline, account)) verdict.baseline_incomplete.push_back(*differ);
  } else if (baseline != nullptr) {
    verdict.incomplete.push_back(
        absl::StrCat("the baseline ", on_one_line(baseline->name),
                     " knows of no finding, since no process was seen in its run that used PyTorch's autocast"));
  }
  examine_limits(account, gate, verdict);
  const bool exceeded =
      std::any_of(verdict.limits.begin(), verdict.limits.end(), [](const Limit& limit) { return limit.exceeded(); });
  if (!account.damage.empty()) {
    verdict.outcome = Outcome::kIncomplete;
  } else if (!verdict.failing.empty() || exceeded) {
    verdict.outcome = Outcome::kFindings;
  } else if ((!verdict.incomplete.empty() && !gate.allow_incomplete) ||
             (gate.require_deep && !is_judged(account, baseline, verdict))) {
    verdict.outcome = Outcome::kIncomplete;
  }
  return verdict;
}

}  // namespace castscope::report
