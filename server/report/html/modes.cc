// The section of the page about the dtypes that code computed in, by the mode that it ran in.
#include <algorithm>

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

constexpr std::size_t kModeRows = 300, kCompilations = 100, kComparisons = 20;
constexpr const char* kNothing = "–";

// Writes a row for each line that ran in more than one mode; other lines have none.
void write_seen(Html& html, const Model& model) {
  const std::vector<ModeRow> rows = mode_rows(model.run);
  if (rows.empty()) return;
  html.leaf("h2", "Modes");
  {
    std::vector<Table::Column> columns = {{"where"}, {"operator"}};
    for (const std::string_view mode : rules::kModeNames) columns.push_back({mode});
    columns.push_back({""});
    Table table(html, std::move(columns));
    for (std::size_t i = 0; i < std::min(rows.size(), kModeRows); ++i) {
      const ModeRow& row = rows[i];
      std::vector<std::string> cells = {place(model.run, row.location), row.work};
      for (const auto& dtypes : row.computed) cells.push_back(dtypes.empty() ? kNothing : dtype_list(dtypes));
      cells.emplace_back(row.differs() ? "differs" : "");
      table.row(cells);
    }
  }
  write_rest(html, rows.size(), kModeRows, "JSON");
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

void write_comparison(Html& html, const Model& model, const Comparison& of) {
  html.leaf("h3", of.name);
  {
    const auto list = html.element("ul");
    for (const ComparedMode& mode : of.modes) html.leaf("li", mode.mode + ": " + verdict(model, mode));
  }
  const auto differing = static_cast<std::size_t>(std::ranges::count_if(of.rows, &ComparedRow::differs));
  if (differing > 0) {
    std::vector<Table::Column> columns = {{"where"}, {"operator"}, {"eager"}};
    for (const ComparedMode& mode : of.modes) columns.push_back({mode.mode});
    columns.push_back({"why"});
    Table table(html, std::move(columns));
    std::size_t shown = 0;
    for (const ComparedRow& row : of.rows) {
      if (!row.differs() || ++shown > kModeRows) continue;
      const std::string at = row.location.file.empty() ? row.module : place(model.run, row.location);
      std::vector<std::string> cells = {at, row.op};
      for (const ComparedCell& cell : row.cells) cells.push_back(cell_text(cell));
      cells.push_back(reasons(row));
      table.row(cells);
    }
  }
  write_rest(html, differing, kModeRows, "JSON");
  const std::size_t same = of.rows.size() - differing;
  if (same > 0)
    html.leaf("p", counted(same, "operator is", "operators are") + " the same in every mode.", {{"class", "soft"}});
}

void write_comparisons(Html& html, const Model& model) {
  const std::vector<Comparison> all = comparisons(model.run);
  if (all.empty()) return;
  html.leaf("h2", "Comparisons of modes");
  html.leaf(
      "p",
      "By castscope.compare in the job. ! a difference begins; ~ it follows from one; – there is no such operator.",
      {{"class", "soft"}});
  for (std::size_t i = 0; i < std::min(all.size(), kComparisons); ++i) write_comparison(html, model, all[i]);
  write_rest(html, all.size(), kComparisons, "JSON");
}

void write_compilations(Html& html, const Model& model) {
  const std::vector<Compilation> all = compilations(model.run);
  if (all.empty()) return;
  html.leaf("h2", "Compiled code");
  {
    Table table(html, {{"code"}, {"compiled by"}, {"times", true}, {"again, for these guards"}});
    for (std::size_t i = 0; i < std::min(all.size(), kCompilations); ++i) {
      const Compilation& one = all[i];
      std::vector<std::string> guards;
      for (const Recompilation& again : one.again)
        guards.push_back(again.times > 1 ? absl::StrCat(again.guard, " (", again.times, " times)") : again.guard);
      table.row({one.code, one.called_at.file.empty() ? "" : place(model.run, one.called_at), grouped(one.times),
                 absl::StrJoin(guards, "; ")});
    }
  }
  write_rest(html, all.size(), kCompilations, "JSON");
}

}  // namespace

void write_modes(Html& html, const Model& model) {
  write_seen(html, model);
  write_comparisons(html, model);
  write_compilations(html, model);
}

}  // namespace castscope::report
