// The words in which a difference is reported.
#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "server/report/compare/difference.h"
#include "server/report/findings/fingerprint.h"
#include "server/report/model/json_values.h"
#include "server/report/text/document.h"
#include "server/report/text/lines.h"
#include "server/report/text/words.h"
#include "server/rules/evidence/finding.h"

namespace castscope::report {
namespace {

using Json = nlohmann::ordered_json;

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

std::string totals_text(const Difference& difference) {
  std::vector<std::array<std::string, 4>> rows;
  std::array<std::size_t, 3> widest{};
  for (const TotalChange& total : difference.totals) {
    std::string way = "same";
    if (total.before != total.after && total.before > 0) {
      char text[32];
      std::snprintf(text, sizeof text, "%+.1f %%",
                    100 * (static_cast<double>(total.after) / static_cast<double>(total.before) - 1));
      way = text;
    } else if (total.before != total.after) {
      way = "new";
    }
    rows.push_back({total_name(total), amount(total, total.before), amount(total, total.after), way});
    for (std::size_t i = 0; i < widest.size(); ++i) widest[i] = std::max(widest[i], columns(rows.back()[i]));
  }
  std::string all;
  for (const auto& row : rows) {
    const auto pad = [&](std::size_t i) { return std::string(widest[i] - columns(row[i]), ' '); };
    all += "  " + row[0] + pad(0) + "  " + pad(1) + row[1] + "  " + pad(2) + row[2] + "  " + row[3] + "\n";
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
  return text + ", " + duration(site.cpu_ns);
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
      text += dtypes(site) + ": was " + counts_text(change.before) + ", is " + counts_text(site) +
              (change.by_time_alone ? " (by time alone)" : "");
      break;
  }
  return "    " + place(site) + "\n" + wrapped("      ", "      ", on_one_line(text), width);
}

std::string sites_text(const Difference& difference, Change change, int width) {
  std::string all;
  std::size_t count = 0;
  for (const SiteChange& site : difference.sites) {
    if (site.change == change && ++count <= kShown) all += site_text(site, width);
  }
  if (count == 0) return "";
  if (count > kShown) all += "    and " + grouped(count - kShown) + " more (-f json has all)\n";
  return "\n  casts " + std::string(name(change)) + ": " + grouped(count) + "\n" + all;
}

std::string name_of(const AccountPrecision& one) {
  const std::string op = one.op.starts_with("aten::") ? one.op.substr(6) : one.op;
  return one.model.empty() ? op : absl::StrCat(one.model, one.module.empty() ? "" : ".", one.module, ", ", op);
}

std::string precision_text(const Difference& difference, int width) {
  if (difference.precision.empty()) return "";
  std::string all =
      "\n  operators in another dtype (phase-dtype-drift): " + grouped(difference.precision.size()) + "\n";
  for (std::size_t n = 0; n < std::min(difference.precision.size(), kShown); ++n) {
    const auto& [before, after] = difference.precision[n];
    all += "    " + on_one_line(absl::StrCat(after.file, ":", after.line)) + "\n";
    all += wrapped("      ", "      ",
                   on_one_line(absl::StrCat(name_of(after), ": was ", before.computed, " (", before.file, ":",
                                            before.line, "), is ", after.computed)),
                   width);
  }
  if (difference.precision.size() > kShown)
    all += "    and " + grouped(difference.precision.size() - kShown) + " more (-f json has all)\n";
  return all;
}

// Dtypes of one run cannot be compared with those of a run that did not look at them.
std::string not_looked_at(const Account& account, const Account& other, int width) {
  if (!account.precision.empty() || other.precision.empty()) return "";
  return "\n" + wrapped("  ", "  ",
                        on_one_line(absl::StrCat(account.name,
                                                 ": no operator was looked at, so what they compute in "
                                                 "is not compared; record it with --deep always")),
                        width);
}

Json line_json(const auto& at) {
  return {{"file", text_or_null(at.file)},
          {"line", at.line > 0 ? Json(at.line) : Json()},
          {"function", text_or_null(at.function)}};
}

Json precision_json(const AccountPrecision& one) {
  Json json = line_json(one);
  json.update({{"model", text_or_null(one.model)},
               {"module", one.model.empty() ? Json() : Json(one.module)},
               {"operator", one.op},
               {"computed_in", text_or_null(one.computed)},
               {"calls", one.calls},
               {"grad_mode", one.grad_mode}});
  return json;
}

std::string findings_text(const Account& account, const std::vector<std::size_t>& which, const char* title, int width) {
  if (which.empty()) return "";
  std::string all = "\n  findings " + std::string(title) + ": " + grouped(which.size()) + "\n";
  for (std::size_t n = 0; n < std::min(which.size(), kShown); ++n) {
    const store::Finding& finding = account.findings[which[n]];
    const std::string at = finding.location ? absl::StrCat(portable_path(finding.location->file, account.project), ":",
                                                           finding.location->line)
                                            : "no Python line";
    all += "    " + finding.severity + " " + finding.rule + "  " + on_one_line(at) + "\n";
    all += wrapped("      ", "      ", on_one_line(finding.title), width);
  }
  if (which.size() > kShown) all += "    and " + grouped(which.size() - kShown) + " more (-f json has all)\n";
  return all;
}

Json site_json(const AccountSite& site) {
  const bool has_text = site.line > 0 && site.text != absl::StrCat("line ", site.line);
  Json json = line_json(site);
  json.update({{"source_text", has_text ? Json(site.text) : Json()},
               {"operator", text_or_null(site.op)},
               {"argument", text_or_null(site.argument)},
               {"phase", site.phase},
               {"cause", site.cause},
               {"from_dtype", site.from},
               {"to_dtype", site.to},
               {"casts", site.casts},
               {"cache_hits", site.hits},
               {"bytes", site.bytes},
               {"cpu_ns", site.cpu_ns}});
  return json;
}

Json findings_json(const Account& account, const std::vector<std::size_t>& which) {
  Json list = Json::array();
  for (const std::size_t i : which) {
    const store::Finding& finding = account.findings[i];
    const store::CodeLocation at = finding.location.value_or(store::CodeLocation());
    list.push_back({{"rule", finding.rule},
                    {"severity", finding.severity},
                    {"file", finding.location ? Json(portable_path(at.file, account.project)) : Json()},
                    {"line", finding.location ? Json(at.line) : Json()},
                    {"title", finding.title},
                    {"fingerprint", account.fingerprints[i]}});
  }
  return list;
}

}  // namespace

std::string difference_text(const Account& before, const Account& after, const Difference& difference, int width) {
  std::string all =
      wrapped("castscope diff: ", "  ", on_one_line(before.name) + " → " + on_one_line(after.name), width);
  for (const std::string& doubt : difference.doubts)
    all += wrapped("  incomplete: ", "    ", on_one_line(doubt), width);
  all += "\n" + totals_text(difference);
  all += findings_text(after, difference.new_findings, "new", width);
  all += findings_text(before, difference.fixed_findings, "fixed", width);
  all += findings_text(after, difference.unseen_before, "not looked at before", width);
  all += findings_text(before, difference.unseen_after, "not looked at after", width);
  all += precision_text(difference, width);
  all += not_looked_at(before, after, width) + not_looked_at(after, before, width);
  for (const Change change : {Change::kNew, Change::kGone, Change::kMoved, Change::kCostlier, Change::kCheaper})
    all += sites_text(difference, change, width);
  if (difference.per_step && !difference.sites.empty())
    all += "\n" + wrapped("  ", "  ",
                          "The runs have different numbers of steps: sites are compared by what a step does.", width);
  if (!difference.any())
    all += difference.doubts.empty() ? "\n  the same casts at the same places, and the same findings\n"
                                     : "\n  nothing that was seen differs; what was not seen cannot be compared\n";
  return all;
}

Json difference_json(const Account& before, const Account& after, const Difference& difference) {
  Json totals = Json::object();
  for (const TotalChange& total : difference.totals)
    totals[std::string(total.name)] = {{"before", total.before}, {"after", total.after}};
  Json sites = Json::array();
  for (const SiteChange& change : difference.sites) {
    sites.push_back({{"change", name(change.change)},
                     {"by_time_alone", change.by_time_alone},
                     {"before", change.change == Change::kNew ? Json() : site_json(change.before)},
                     {"after", change.change == Change::kGone ? Json() : site_json(change.after)}});
  }
  Json precision = Json::array();
  for (const PrecisionChange& change : difference.precision)
    precision.push_back({{"before", precision_json(change.before)}, {"after", precision_json(change.after)}});
  return document(kDiffForm, {{"before", {{"compared_file", before.name}, {"complete", before.complete}}},
                              {"after", {{"compared_file", after.name}, {"complete", after.complete}}},
                              {"differs", difference.any()},
                              {"doubts", difference.doubts},
                              {"per_step", difference.per_step},
                              {"total_changes", totals},
                              {"finding_changes",
                               {{"new_findings", findings_json(after, difference.new_findings)},
                                {"fixed_findings", findings_json(before, difference.fixed_findings)},
                                {"unseen_before", findings_json(after, difference.unseen_before)},
                                {"unseen_after", findings_json(before, difference.unseen_after)}}},
                              {"precision_changes", precision},
                              {"site_changes", sites}});
}

}  // namespace castscope::report
