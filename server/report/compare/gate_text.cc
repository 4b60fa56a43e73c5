// The words in which a verdict is reported.
#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/report/compare/gate.h"
#include "server/report/findings/fingerprint.h"
#include "server/report/text/document.h"
#include "server/report/text/lines.h"
#include "server/report/text/words.h"
#include "server/rules/evidence/finding.h"

namespace castscope::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kFailingShown = 20;  // findings; all of them are in the JSON

std::string percentage(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g %%", 100 * share);
  return text;
}

std::string place_of(const store::Finding& finding, const Account& account) {
  if (!finding.location) return "no Python line";
  return on_one_line(absl::StrCat(portable_path(finding.location->file, account.project), ":", finding.location->line));
}

std::string in_limit(const Limit& limit, double value) {
  if (limit.option != "--max-cache") return percentage(value);
  const auto bytes = static_cast<std::uint64_t>(value);
  // All digits are shown where the rounded numbers would look alike.
  const bool alike = rules::readable_bytes(static_cast<std::uint64_t>(*limit.value)) ==
                     rules::readable_bytes(static_cast<std::uint64_t>(limit.most));
  return alike ? counted(bytes, "byte", "bytes") : rules::readable_bytes(bytes);
}

std::string limit_text(const Limit& limit) {
  const std::string what =
      limit.option == "--max-cache" ? "the autocast cache: " : "share of the steps' time that autocast's casts take: ";
  const std::string option = absl::StrCat(" (", std::string(limit.option), ")");
  if (!limit.value) return what + "not known" + option;
  return what + in_limit(limit, *limit.value) + (limit.exceeded() ? ", more than " : ", at most ") +
         in_limit(limit, limit.most) + option;
}

std::string what_was_not_judged(const Account& account) {
  return account.unjudged.empty() ? "the run of the baseline was not looked at as this one was"
                                  : "rules could not judge all of the run";
}

std::string headline(const Account& account, const Gate& gate, const Verdict& verdict) {
  std::string reasons;
  const auto add = [&](const std::string& reason) { reasons += (reasons.empty() ? "" : " and ") + reason; };
  if (!verdict.failing.empty())
    add(counted(verdict.failing.size(), "finding", "findings") + " of severity " + gate.fail_on +
        (gate.fail_on == "error" ? "" : " or higher"));
  const auto exceeded = static_cast<std::uint64_t>(
      std::count_if(verdict.limits.begin(), verdict.limits.end(), [](const Limit& limit) { return limit.exceeded(); }));
  if (exceeded > 0) add(counted(exceeded, "limit exceeded", "limits exceeded"));
  const bool observed = account.processes > 0 || !account.damage.empty();
  switch (verdict.outcome) {
    case Outcome::kFindings:
      return "fails: " + reasons;
    case Outcome::kIncomplete:
      if (!account.damage.empty())
        return "inconclusive" + (reasons.empty() ? "" : "; what is left of the file has " + reasons);
      if (!observed && !gate.allow_incomplete)
        return "inconclusive: not observed, so that nothing could be found (--allow-incomplete lets it pass)";
      if (verdict.incomplete.empty() || gate.allow_incomplete)
        return "inconclusive: nothing was found, but " + what_was_not_judged(account) + " (--require-deep)";
      return absl::StrCat("inconclusive: nothing ", verdict.unseen_before.empty() ? "was found" : "is surely new",
                          ", but the data are incomplete (--allow-incomplete lets it pass)");
    case Outcome::kClean:
      break;
  }
  if (!observed) return "not observed, which --allow-incomplete lets pass";
  if (!verdict.incomplete.empty()) return "clean, as far as the incomplete data show";
  return account.unjudged.empty() ? "clean" : "clean, as far as rules could judge";
}

// Lists the findings that do not fail the gate, so that none vanishes without a word.
std::vector<std::string> left_out(const Account& account, const Gate& gate, const Verdict& verdict,
                                  const Account* baseline, const VerdictNames& names) {
  std::vector<std::string> all;
  if (!verdict.below.empty())
    all.push_back(counted(verdict.below.size(), "finding", "findings") + " below " + gate.fail_on);
  if (!verdict.known.empty())
    all.push_back(counted(verdict.known.size(), "finding", "findings") + " known from " + on_one_line(baseline->name) +
                  (verdict.moved == 0 ? "" : ", " + grouped(verdict.moved) + " of them at another place"));
  if (!verdict.unseen_before.empty())
    all.push_back(counted(verdict.unseen_before.size(), "finding", "findings") + " that the run of " +
                  on_one_line(baseline->name) + " may have missed: it " + std::string(kLookedLess));
  if (account.ignored_by_settings > 0)
    all.push_back(counted(account.ignored_by_settings, "finding", "findings") + " ignored by " +
                  (names.settings_file.empty() ? "castscope.json" : on_one_line(names.settings_file)));
  if (account.ignored_in_code > 0)
    all.push_back(counted(account.ignored_in_code, "finding", "findings") + " ignored by comments in the code");
  return all;
}

// "not judged: 12 rules, because …: cache-grows, …": rules that share the reason share a sentence.
// Of a run that was not observed, the reason is said in another line, and holds for all rules.
std::string unjudged_text(const Account& account, const std::string& of_what, int width) {
  if (account.processes == 0) return "";
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;  // what is said of them; their names
  for (const AccountRule& of : account.unjudged) {
    const std::string what = absl::StrCat(of.judged == "not" ? "not judged" : "judged in part",
                                          of.because.empty() ? "" : ", because ", of.because);
    auto at = std::ranges::find_if(groups, [&](const auto& group) { return group.first == what; });
    if (at == groups.end()) at = groups.insert(groups.end(), {what, {}});
    at->second.push_back(of.rule);
  }
  std::string text;
  for (const auto& [what, rules] : groups)
    text += wrapped(
        "  ", "    ",
        of_what + counted(rules.size(), "rule", "rules") + " " + on_one_line(what) + ": " + absl::StrJoin(rules, ", "),
        width);
  return text;
}

// The rules that judged a sample of the steps share the reason. Their names are in the report.
std::string sampled_text(const Account& account, int width) {
  if (account.sampled.empty()) return "";
  return wrapped("  ", "    ",
                 counted(account.sampled.size(), "rule", "rules") +
                     " judged a sample of the steps: " + on_one_line(account.sampled.front().because),
                 width);
}

Json rules_json(const std::vector<AccountRule>& rules) {
  Json list = Json::array();
  for (const AccountRule& of : rules)
    list.push_back({{"rule", of.rule}, {"judged", of.judged}, {"because", of.because}});
  return list;
}

Json finding_json(const Account& account, std::size_t i) {
  const store::Finding& finding = account.findings[i];
  const store::CodeLocation at = finding.location.value_or(store::CodeLocation());
  return {{"rule", finding.rule},
          {"severity", finding.severity},
          {"file", finding.location ? Json(portable_path(at.file, account.project)) : Json()},
          {"line", finding.location ? Json(at.line) : Json()},
          {"function", finding.location ? Json(at.function) : Json()},
          {"title", finding.title},
          {"fix", finding.fix},
          {"fingerprint", account.fingerprints[i]}};
}

Json list_json(const Account& account, const std::vector<std::size_t>& which) {
  Json list = Json::array();
  for (const std::size_t i : which) list.push_back(finding_json(account, i));
  return list;
}

std::vector<std::string> doubts_in_baseline(const Verdict& verdict) {
  std::vector<std::string> all = verdict.baseline_incomplete;
  if (verdict.by_number) all.push_back(*verdict.by_number);
  return all;
}

}  // namespace

std::string verdict_text(const Account& account, const Gate& gate, const Verdict& verdict, const Account* baseline,
                         const VerdictNames& names) {
  const int width = names.width;
  std::string all =
      wrapped("castscope check: ", "  ", on_one_line(account.name) + " " + headline(account, gate, verdict), width);
  for (std::size_t n = 0; n < std::min(verdict.failing.size(), kFailingShown); ++n) {
    const store::Finding& finding = account.findings[verdict.failing[n]];
    all += "\n  " + finding.severity + " " + finding.rule + "  " + place_of(finding, account) + "\n";
    all += wrapped("    ", "    ", on_one_line(finding.title) + ".", width);
    all += wrapped("    fix: ", "         ", on_one_line(finding.fix), width);
  }
  if (verdict.failing.size() > kFailingShown)
    all += "\n  and " + grouped(verdict.failing.size() - kFailingShown) + " more (-f json has all)\n";
  std::string rest;
  for (const Limit& limit : verdict.limits)
    rest += wrapped(limit.exceeded() ? "  exceeded: " : "  ", "    ", limit_text(limit), width);
  for (const std::string& why : verdict.incomplete) rest += wrapped("  incomplete: ", "    ", why, width);
  const bool any_new = !verdict.failing.empty() || !verdict.below.empty();
  for (const std::string& why : verdict.baseline_incomplete)
    rest += wrapped("  note: ", "    ",
                    absl::StrCat("in the baseline's run, ", why,
                                 any_new ? ": not every finding that counts as new may be new" : ""),
                    width);
  if (verdict.by_number) rest += wrapped("  note: ", "    ", *verdict.by_number, width);
  rest += sampled_text(account, width);
  rest += unjudged_text(account, "", width);
  if (baseline != nullptr) rest += unjudged_text(*baseline, "in the baseline's run, ", width);
  for (const std::string& notice : account.notices)
    if (notice != account.damage) rest += wrapped("  note: ", "    ", on_one_line(notice), width);
  for (const std::string& sentence : left_out(account, gate, verdict, baseline, names))
    rest += wrapped("  not counted: ", "    ", sentence, width);
  if (!verdict.gone.empty())
    rest += wrapped("  gone: ", "    ",
                    counted(verdict.gone.size(), "finding", "findings") + " of " + on_one_line(baseline->name) +
                        (verdict.gone.size() == 1 ? " is" : " are") + " not there any more",
                    width);
  if (!verdict.unseen_now.empty())
    rest += wrapped("  not looked at: ", "    ",
                    counted(verdict.unseen_now.size(), "finding", "findings") + " of " + on_one_line(baseline->name) +
                        " may have been missed now: this run " + std::string(kLookedLess),
                    width);
  return all + (rest.empty() ? "" : "\n" + rest);
}

Json verdict_json(const Account& account, const Gate& gate, const Verdict& verdict, const Account* baseline) {
  constexpr std::array<const char*, 4> kOutcomes = {"clean", "findings", "", "incomplete"};
  Json limits = Json::array();
  for (const Limit& limit : verdict.limits) {
    limits.push_back({{"option", limit.option},
                      {"limit", limit.most},
                      {"measured", limit.value ? Json(*limit.value) : Json()},
                      {"exceeded", limit.exceeded()}});
  }
  return document(kCheckForm,
                  {{"outcome", kOutcomes[static_cast<std::size_t>(verdict.outcome)]},
                   {"check_exit_status", static_cast<int>(verdict.outcome)},
                   {"checked_file", account.name},
                   {"baseline", baseline != nullptr ? Json(baseline->name) : Json()},
                   {"fail_on", gate.fail_on},
                   {"complete", account.complete},
                   {"observed", account.processes > 0},
                   {"doubts", verdict.incomplete},
                   {"failing_findings", list_json(account, verdict.failing)},
                   {"below_fail_on", list_json(account, verdict.below)},
                   {"known_findings", list_json(account, verdict.known)},
                   {"unseen_before", list_json(account, verdict.unseen_before)},
                   {"fixed_findings", baseline == nullptr ? Json::array() : list_json(*baseline, verdict.gone)},
                   {"unseen_after", baseline == nullptr ? Json::array() : list_json(*baseline, verdict.unseen_now)},
                   {"unjudged", rules_json(account.unjudged)},
                   {"sampled", rules_json(account.sampled)},
                   {"unjudged_in_baseline", baseline == nullptr ? Json::array() : rules_json(baseline->unjudged)},
                   {"doubts_in_baseline", doubts_in_baseline(verdict)},
                   {"ignored", {{"by_settings", account.ignored_by_settings}, {"in_code", account.ignored_in_code}}},
                   {"limits", limits}});
}

}  // namespace castscope::report
