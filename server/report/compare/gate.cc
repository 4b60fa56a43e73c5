#include "server/report/compare/gate.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/report/compare/comparable.h"
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

bool is_grave(const store::Finding& finding, const Gate& gate) {
  return rules::place_of_severity(finding.severity) <= rules::place_of_severity(gate.fail_on);
}

void examine_findings(const Comparable& two, const Gate& gate, Verdict& verdict) {
  const std::vector<InOther> before = in_other(two.after, two.before), now = in_other(two.before, two.after);
  for (std::size_t i = 0; i < before.size(); ++i)
    (before[i] == InOther::kThere            ? verdict.known
     : before[i] == InOther::kMaybeMissed    ? verdict.unseen_before
     : is_grave(two.after.findings[i], gate) ? verdict.failing
                                             : verdict.below)
        .push_back(i);
  for (std::size_t i = 0; i < now.size(); ++i)
    if (now[i] != InOther::kThere) (now[i] == InOther::kNotThere ? verdict.gone : verdict.unseen_now).push_back(i);
  verdict.moved = two.moved.size();
  verdict.by_number = two.sentence();
}

// Findings that would fail the gate if they were new, where the run of the baseline may have missed them for another
// reason than the depth of its recording.
std::size_t graves_in_doubt(const Account& account, const Gate& gate, const Account& baseline, const Verdict& verdict) {
  if (!baseline.is_cut_short && !baseline.lacks_sites && !baseline.lacks_events) return 0;
  return static_cast<std::size_t>(
      std::ranges::count_if(verdict.unseen_before, [&](std::size_t i) { return is_grave(account.findings[i], gate); }));
}

bool is_judged(const Account& account, const Account* baseline, const Verdict& verdict) {
  return account.unjudged.empty() && (baseline == nullptr || baseline->unjudged.empty()) &&
         verdict.unseen_before.empty();
}

}  // namespace

Verdict examine(const Account& account, const Gate& gate, const Account* baseline) {
  Verdict verdict;
  if (baseline == nullptr)
    for (std::size_t i = 0; i < account.findings.size(); ++i)
      (is_grave(account.findings[i], gate) ? verdict.failing : verdict.below).push_back(i);
  else
    examine_findings(comparable(*baseline, account), gate, verdict);
  verdict.incomplete = why_incomplete(account);
  if (baseline != nullptr && baseline->processes > 0) {
    verdict.baseline_incomplete = why_incomplete(*baseline);
    if (const auto differ = how_steps_differ(*baseline, account)) verdict.baseline_incomplete.push_back(*differ);
    if (const std::size_t doubtful = graves_in_doubt(account, gate, *baseline, verdict); doubtful > 0)
      verdict.incomplete.push_back(absl::StrCat("whether ", counted(doubtful, "finding is", "findings are"),
                                                " new is not known: the baseline's run may have missed ",
                                                doubtful == 1 ? "it" : "them"));
    // Without casts, most rules have nothing to judge: a run that lost its regions is not clean.
    if (baseline->casts > 0 && account.casts == 0)
      verdict.incomplete.push_back(absl::StrCat("autocast cast nothing in this run, and ",
                                                counted(baseline->casts, "time", "times"),
                                                " in that of the baseline: were its regions lost?"));
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
