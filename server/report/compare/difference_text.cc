// The words in which a difference is reported.
#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <string_view>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "server/report/compare/account_operators.h"
#include "server/report/compare/difference.h"
#include "server/report/findings/fingerprint.h"
#include "server/report/text/lines.h"
#include "server/report/text/words.h"
#include "server/rules/evidence/finding.h"

namespace castscope::report {
namespace {

constexpr std::size_t kShown = 15;  // of each kind; the JSON has all

std::string amount(const TotalChange& total, std::uint64_t value) {
  if (total.name == "cpu_ns") return duration(value);
  return total.name.find("bytes") != std::string_view::npos ? rules::readable_bytes(value) : grouped(value);
}

std::string total_name(const TotalChange& total) {
  constexpr std::pair<std::string_view, const char*> kWords[] = {
      {"step_count", "steps"},
      {"casts", "casts by autocast"},
      {"cache_hits", "cache hits"},
      {"pass_throughs", "pass-throughs"},
      {"bytes", "bytes copied"},
      {"cpu_ns", "CPU time of these"},
      {"cache_peak_bytes", "cache peak"},
  };
  for (const auto& [name, words] : kWords)
    if (name == total.name) return words;
  return std::string(total.name);
}

// "+12.5 %"
std::string way(const TotalChange& total) {
  if (total.before == total.after) return "same";
  if (total.before == 0) return "new";
  char text[32];
  std::snprintf(text, sizeof text, "%+.1f %%",
                100 * (static_cast<double>(total.after) / static_cast<double>(total.before) - 1));
  return text;
}

std::string metric_value(const std::optional<double>& value) { return value ? real(*value) : "no number"; }

using TotalRow = std::array<std::string, 4>;

// The first value shows a fault of the forward pass alone, before any training.
void add_rows_of(const MetricChange& metric, std::vector<TotalRow>& rows) {
  const auto& [was, is] = metric;
  rows.push_back({on_one_line(was.name) + ", first", metric_value(was.first), metric_value(is.first), ""});
  rows.push_back({on_one_line(was.name) + ", last", metric_value(was.last), metric_value(is.last), ""});
}

std::string totals_text(const Difference& difference) {
  std::vector<TotalRow> rows;
  for (const TotalChange& total : difference.totals)
    rows.push_back({total_name(total), amount(total, total.before), amount(total, total.after), way(total)});
  for (std::size_t n = 0; n < std::min(difference.metrics.size(), kShown); ++n)
    add_rows_of(difference.metrics[n], rows);
  std::array<std::size_t, 3> widest{};
  for (const TotalRow& row : rows)
    for (std::size_t i = 0; i < widest.size(); ++i) widest[i] = std::max(widest[i], columns(row[i]));
  std::string all;
  for (const TotalRow& row : rows) {
    const auto pad = [&](std::size_t i) { return std::string(widest[i] - columns(row[i]), ' '); };
    all += "  " + row[0] + pad(0) + "  " + pad(1) + row[1] + "  " + pad(2) + row[2];
    all += (row[3].empty() ? "" : "  " + row[3]) + "\n";
  }
  return all;
}

std::string place(const AccountSite& site) {
  return site.line == 0 ? "no Python line" : on_one_line(absl::StrCat(site.file, ":", site.line));
}

std::string what(const AccountSite& site) {
  std::string op = site.op.empty() ? site.cause : site.op;
  if (op.starts_with("aten::")) op = op.substr(6);
  if (!site.argument.empty()) op += " " + site.argument;
  return op + (site.phase == "backward" ? ", backward" : "");
}

std::string dtypes(const AccountSite& site) { return site.from + " to " + site.to; }

std::string counts_text(const AccountSite& site) {
  std::string text = counted(site.casts, "cast", "casts");
  if (site.hits > 0) text += ", " + counted(site.hits, "cache hit", "cache hits");
  return text + ", " + rules::readable_bytes(site.bytes) + ", " + duration(site.cpu_ns);
}

std::string site_text(const SiteChange& change, int width) {
  const AccountSite& site = change.change == Change::kGone ? change.before : change.after;
  std::string text = what(site) + ", ";
  switch (change.change) {
    case Change::kNew:
    case Change::kGone:
      text += dtypes(site) + ": " + counts_text(site);
      break;
    case Change::kMoved:
      text += "was " + dtypes(change.before) + " (" + counts_text(change.before) + "), is " + dtypes(site) + " (" +
              counts_text(site) + ")";
      break;
    case Change::kCostlier:
    case Change::kCheaper:
      text += dtypes(site) + ": was " + counts_text(change.before) + ", is " + counts_text(site);
      break;
    case Change::kElsewhere:
      text += dtypes(site) + ": was at " + place(change.before);
      break;
  }
  return "    " + place(site) + "\n" + wrapped("      ", "      ", on_one_line(text), width);
}

std::string_view heading(Change change) {
  constexpr std::array<std::string_view, 6> kHeadings = {
      "casts new",      "casts gone",    "casts in another dtype",
      "casts costlier", "casts cheaper", "the same casts at another place, which is no difference"};
  return kHeadings[static_cast<std::size_t>(change)];
}

std::string and_more(std::size_t count) {
  return count > kShown ? "    and " + grouped(count - kShown) + " more (-f json has all)\n" : "";
}

// Places that differ by time alone are counted: a list of them would hide what was changed.
std::string sites_text(const Difference& difference, Change change, int width) {
  std::string all;
  std::size_t count = 0;
  for (const SiteChange& site : difference.sites)
    if (site.change == change && !site.by_time_alone && ++count <= kShown) all += site_text(site, width);
  if (count == 0) return "";
  return "\n  " + std::string(heading(change)) + ": " + grouped(count) + "\n" + all + and_more(count);
}

std::string times_text(const Difference& difference, int width) {
  const auto count = static_cast<std::uint64_t>(std::ranges::count_if(difference.sites, &SiteChange::by_time_alone));
  if (count == 0) return "";
  return "\n" + wrapped("  ", "  ",
                        counted(count, "place differs", "places differ") +
                            " in the time of the casts alone, which is no difference (-f json has all)",
                        width);
}

std::string module_of(const AccountPrecision& one) {
  return one.model.empty() ? "" : absl::StrCat(one.model, one.module.empty() ? "" : ".", one.module);
}

std::string place(const AccountPrecision& one) {
  return one.line == 0 ? "no Python line" : absl::StrCat(one.file, ":", one.line);
}

std::string why_half(const AccountPrecision& one) {
  if (one.half_from == name(HalfFrom::kCode)) return "the code asks for it";
  if (one.half_from == name(HalfFrom::kArguments)) return "its arguments came in it";
  return one.half_from == name(HalfFrom::kAutocast) ? "autocast casts for it" : "";
}

// Modules that do the same at one line are told together.
struct Operators {
  const AccountPrecision *before, *after;  // of the first module; before: nullptr = not there
  bool in_part = false;
  std::size_t modules = 0;
};

std::string operators_text(const Operators& of, int width) {
  const AccountPrecision& is = *of.after;
  const std::string op = is.op.starts_with("aten::") ? is.op.substr(6) : is.op, module = module_of(is);
  std::string text = absl::StrCat(module, of.modules > 1 ? absl::StrCat(" and ", of.modules - 1, " more") : "",
                                  module.empty() ? "" : ", ", op, ": ");
  if (of.before != nullptr) {
    absl::StrAppend(&text, "was ", of.before->computed);
    if (place(*of.before) != place(is)) absl::StrAppend(&text, " (", place(*of.before), ")");
    absl::StrAppend(&text, ", is ");
  }
  absl::StrAppend(&text, is.computed, of.in_part ? " in part" : "");
  const std::string why = is.half_from.empty() && of.before != nullptr ? "" : why_half(is);
  if (!why.empty()) absl::StrAppend(&text, "; ", why);
  return "    " + on_one_line(place(is)) + "\n" + wrapped("      ", "      ", on_one_line(text), width);
}

std::vector<Operators> in_groups(const std::vector<Operators>& all) {
  std::vector<Operators> groups;
  const auto look = [](const Operators& of) {
    return std::make_tuple(place(*of.after), of.after->op, of.before == nullptr ? "" : of.before->computed,
                           of.after->computed, of.after->half_from, of.in_part);
  };
  std::map<decltype(look(Operators())), std::size_t> known;
  for (const Operators& of : all) {
    const auto [at, is_new] = known.try_emplace(look(of), groups.size());
    if (is_new) groups.push_back(of);
    ++groups[at->second].modules;
  }
  return groups;
}

std::vector<Operators> changed_operators(const Difference& difference) {
  std::vector<Operators> all;
  for (const PrecisionChange& change : difference.precision)
    all.push_back({&change.before, &change.after, change.in_part});
  return in_groups(all);
}

std::vector<Operators> new_operators(const Difference& difference) {
  std::vector<Operators> all;
  for (const AccountPrecision& one : difference.new_in_a_half) all.push_back({nullptr, &one});
  return in_groups(all);
}

std::string operators_text(const char* title, const std::vector<Operators>& groups, int width) {
  if (groups.empty()) return "";
  std::string text = absl::StrCat("\n  ", title, ": ", grouped(groups.size()), "\n");
  for (std::size_t n = 0; n < std::min(groups.size(), kShown); ++n) text += operators_text(groups[n], width);
  return text + and_more(groups.size());
}

// What a run did not look at is not told as different, and may be.
std::string some_steps_text(const Account& account, int width) {
  if (account.deep == "always" || !account.skipped_steps.value_or(true)) return "";
  return wrapped("  ", "    ",
                 on_one_line(account.name) +
                     ": the operators of some steps only were looked at (--deep always looks at all); others are not "
                     "compared",
                 width);
}

std::string place(const Account& account, std::size_t i) {
  const auto& at = account.findings[i].location;
  return at ? on_one_line(absl::StrCat(portable_path(at->file, account.project), ":", at->line)) : "no Python line";
}

std::string findings_text(const Account& account, const std::vector<std::size_t>& which, const char* title, int width) {
  if (which.empty()) return "";
  std::string all = "\n  findings " + std::string(title) + ": " + grouped(which.size()) + "\n";
  for (std::size_t n = 0; n < std::min(which.size(), kShown); ++n) {
    const store::Finding& finding = account.findings[which[n]];
    all += "    " + finding.severity + " " + finding.rule + "  " + place(account, which[n]) + "\n";
    all += wrapped("      ", "      ", on_one_line(finding.title), width);
  }
  return all + and_more(which.size());
}

std::string moved_text(const Account& before, const Account& after, const Difference& difference, int width) {
  if (difference.moved_findings.empty()) return "";
  std::string all =
      "\n  the same findings at another place, which is no difference: " + grouped(difference.moved_findings.size()) +
      "\n";
  for (std::size_t n = 0; n < std::min(difference.moved_findings.size(), kShown); ++n) {
    const auto& [was, is] = difference.moved_findings[n];
    all += wrapped("    ", "      ",
                   after.findings[is].rule + "  " + place(after, is) + ", was at " + place(before, was), width);
  }
  return all + and_more(difference.moved_findings.size());
}

// "differs: 1 new finding, 3 operators in another dtype"
std::string verdict_of(const Difference& difference) {
  std::vector<std::string> parts;
  const auto add = [&](std::size_t count, std::string_view one, std::string_view many) {
    if (count > 0) parts.push_back(counted(count, one, many));
  };
  const auto places = [&](Change change) {
    return static_cast<std::size_t>(std::ranges::count_if(
        difference.sites, [&](const SiteChange& site) { return site.change == change && !site.by_time_alone; }));
  };
  add(difference.new_findings.size(), "new finding", "new findings");
  add(difference.fixed_findings.size(), "fixed finding", "fixed findings");
  add(changed_operators(difference).size(), "operator in another dtype", "operators in another dtype");
  add(new_operators(difference).size(), "new operator in a half", "new operators in a half");
  add(places(Change::kMoved), "place that casts another dtype", "places that cast another dtype");
  add(places(Change::kNew), "new place of casts", "new places of casts");
  add(places(Change::kGone), "place of casts gone", "places of casts gone");
  add(places(Change::kCostlier), "place with more casts or bytes", "places with more casts or bytes");
  add(places(Change::kCheaper), "place with fewer casts or bytes", "places with fewer casts or bytes");
  if (!parts.empty()) return "differs: " + listed(parts);
  return difference.doubts.empty() ? "the same casts at the same places, and the same findings"
                                   : "nothing that was seen differs; what was not seen cannot be compared";
}

}  // namespace

std::string difference_text(const Account& before, const Account& after, const Difference& difference, int width) {
  std::string all =
      wrapped("castscope diff: ", "  ", on_one_line(before.name) + " → " + on_one_line(after.name), width);
  all += wrapped("  ", "    ", verdict_of(difference), width);
  for (const std::string& doubt : difference.doubts)
    all += wrapped("  incomplete: ", "    ", on_one_line(doubt), width);
  all += "\n" + totals_text(difference);
  all += findings_text(after, difference.new_findings, "new", width);
  all += findings_text(before, difference.fixed_findings, "fixed", width);
  all += moved_text(before, after, difference, width);
  all += findings_text(after, difference.unseen_before, "not looked at before", width);
  all += findings_text(before, difference.unseen_after, "not looked at after", width);
  all += operators_text("operators in another dtype", changed_operators(difference), width);
  all += operators_text("operators in a half that the first run does not have", new_operators(difference), width);
  const std::string sampled = some_steps_text(before, width) + some_steps_text(after, width);
  if (!sampled.empty()) all += "\n" + sampled;
  for (const Change change :
       {Change::kNew, Change::kGone, Change::kMoved, Change::kCostlier, Change::kCheaper, Change::kElsewhere})
    all += sites_text(difference, change, width);
  all += times_text(difference, width);
  if (difference.per_step && !difference.sites.empty())
    all += "\n" + wrapped("  ", "  ",
                          "The runs have different numbers of steps: sites are compared by what a step does.", width);
  return all;
}

}  // namespace castscope::report
