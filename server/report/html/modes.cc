// The section of the page about the dtypes that code computed in, by the mode that it ran in.
#include <algorithm>
#include <ranges>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/report/html/parts.h"
#include "server/report/html/table.h"
#include "server/report/modes/comparisons.h"
#include "server/report/modes/compilations.h"
#include "server/report/modes/modes.h"
#include "server/report/text/words.h"

namespace castscope::report {
namespace {

constexpr std::size_t kComparisons = 8;
constexpr const char* kNothing = "–";

// Writes a row for each line that ran in more than one mode; other lines have none.
void write_seen(Page& page, const Model& model) {
  const std::vector<ModeRow> rows = mode_rows(model.run);
  if (rows.empty()) return;
  const Section section(page, "modes", "Modes", OnPaper::kNo);
  std::vector<Table::Column> columns = {{"where"}, {"operator"}};
  for (const std::string_view mode : rules::kModeNames) columns.push_back({std::string(mode)});
  columns.push_back({"alike"});
  Table table("What lines that ran in several modes computed in.", std::move(columns));
  for (const ModeRow& row : rows | std::views::take(Table::kMost)) {
    std::vector<std::string> cells = {place(model.run, row.location), row.work};
    for (const auto& dtypes : row.computed) cells.push_back(dtypes.empty() ? kNothing : dtype_list(dtypes));
    cells.emplace_back(row.differs() ? "differs" : "the same");
    table.add({.cells = std::move(cells)});
  }
  table.write(page.html, rows.size(), "JSON");
}

std::string verdict(const Model& model, const ComparedMode& mode) {
  if (!mode.error.empty()) {
    const std::string at = mode.error_at.file.empty() ? "" : " (" + place(model.run, mode.error_at) + ")";
    return absl::StrCat("not available: ", mode.error, at);
  }
  std::string said = mode.differences == 0
                         ? absl::StrCat("same dtypes in ", counted(mode.same, "operator", "operators"))
                         : absl::StrCat("differs at ", counted(mode.differences, "operator", "operators"));
  if (mode.followers > 0) absl::StrAppend(&said, ", and ", mode.followers, " more follow");
  if (mode.not_comparable > 0) absl::StrAppend(&said, "; ", mode.not_comparable, " not comparable");
  if (!mode.same_values) absl::StrAppend(&said, "; values beyond the tolerance");
  return said;
}

std::string cell_text(const ComparedCell& cell) {
  if (cell.computed.empty()) return kNothing;
  if (cell.verdict == "cause") return cell.computed + " !";
  return cell.verdict == "follower" ? cell.computed + " ~" : cell.computed;
}

std::string reasons(const ComparedRow& row) {
  std::vector<std::string> all;
  for (const ComparedCell& cell : row.cells)
    if (!cell.reason.empty() && std::ranges::find(all, cell.reason) == all.end()) all.push_back(cell.reason);
  return absl::StrJoin(all, "; ");
}

void write_differing(Html& html, const Model& model, const Comparison& of, std::size_t differing) {
  std::vector<Table::Column> columns = {{"where"}, {"operator"}, {"eager"}};
  for (const ComparedMode& mode : of.modes) columns.push_back({mode.mode});
  columns.push_back({"why"});
  Table table("Operators that differ, in the order of eager code.", std::move(columns));
  for (const ComparedRow& row : of.rows) {
    if (!row.differs() || table.full()) continue;
    const std::string at = row.location.file.empty() ? row.module : place(model.run, row.location);
    std::vector<std::string> cells = {at, row.op};
    for (const ComparedCell& cell : row.cells) cells.push_back(cell_text(cell));
    cells.push_back(reasons(row));
    table.add({.cells = std::move(cells)});
  }
  table.write(html, differing, "JSON");
}

void write_comparison(Html& html, const Model& model, const Comparison& of) {
  html.leaf("h3", of.name);
  {
    const auto list = html.element("ul");
    for (const ComparedMode& mode : of.modes) html.leaf("li", mode.mode + ": " + verdict(model, mode));
  }
  const auto differing = static_cast<std::size_t>(std::ranges::count_if(of.rows, &ComparedRow::differs));
  if (differing > 0) write_differing(html, model, of, differing);
  const std::size_t same = of.rows.size() - differing;
  if (same > 0)
    html.leaf("p", counted(same, "operator is", "operators are") + " the same in every mode.", {{"class", "soft"}});
}

void write_comparisons(Page& page, const Model& model) {
  const std::vector<Comparison> all = comparisons(model.run);
  if (all.empty()) return;
  const Section section(page, "comparisons", "Comparisons of modes", OnPaper::kNo);
  page.html.leaf(
      "p",
      "By castscope.compare in the job. ! a difference begins; ~ it follows from one; – there is no such operator.",
      {{"class", "soft"}});
  for (const Comparison& one : all | std::views::take(kComparisons)) write_comparison(page.html, model, one);
  write_rest(page.html, all.size(), kComparisons, "JSON");
}

void write_compilations(Page& page, const Model& model) {
  const std::vector<Compilation> all = compilations(model.run);
  if (all.empty()) return;
  const Section section(page, "compiled", "Compiled code", OnPaper::kNo);
  Table table("In the order of the first compilation.",
              {{"code"}, {"compiled by"}, {"times", true}, {"again, for these guards"}});
  for (const Compilation& one : all | std::views::take(Table::kMost)) {
    std::vector<std::string> guards;
    for (const Recompilation& again : one.again)
      guards.push_back(again.times > 1 ? absl::StrCat(again.guard, " (", again.times, " times)") : again.guard);
    table.add({.cells = {one.code, one.called_at.file.empty() ? "" : place(model.run, one.called_at),
                         grouped(one.times), absl::StrJoin(guards, "; ")}});
  }
  table.write(page.html, all.size(), "JSON");
}

}  // namespace

void write_modes(Page& page, const Model& model) {
  write_seen(page, model);
  write_comparisons(page, model);
  write_compilations(page, model);
}

}  // namespace castscope::report
