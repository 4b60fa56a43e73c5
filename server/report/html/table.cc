#include "server/report/html/table.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/report/text/breakable.h"
#include "server/report/text/words.h"

namespace castscope::report {
namespace {

// What stands in the row besides its numbers: by this people tell rows apart.
std::string words_of(const Table::Row& row, const std::vector<Table::Column>& columns) {
  std::string words;
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (!columns[i].number) words.append(row.cells[i]).push_back('\n');
  return words;
}

}  // namespace

Table::Table(std::string caption, std::vector<Column> columns)
    : caption_(std::move(caption)), columns_(std::move(columns)) {}

void Table::tell_apart(const std::vector<std::size_t>& alike) {
  const auto telling = [&](std::size_t row, std::size_t at) {
    const std::vector<std::string>& all = rows_[row].telling;
    return at < all.size() ? all[at] : std::string();
  };
  std::size_t most = 0;
  for (const std::size_t row : alike) most = std::max(most, rows_[row].telling.size());
  for (std::size_t at = 0; at < most; ++at) {
    std::map<std::string, std::vector<std::size_t>> groups;
    for (const std::size_t row : alike) groups[telling(row, at)].push_back(row);
    if (groups.size() < 2) continue;
    for (const auto& [text, rows] : groups) {
      for (const std::size_t row : rows) {
        if (!text.empty()) rows_[row].cells.front() += " (" + text + ")";
        rows_[row].telling.erase(
            rows_[row].telling.begin(),
            rows_[row].telling.begin() + static_cast<std::ptrdiff_t>(std::min(at + 1, rows_[row].telling.size())));
      }
      if (rows.size() > 1) tell_apart(rows);
    }
    return;
  }
}

void Table::tell_apart() {
  std::map<std::string, std::vector<std::size_t>> groups;
  for (std::size_t row = 0; row < rows_.size(); ++row) groups[words_of(rows_[row], columns_)].push_back(row);
  for (const auto& [words, rows] : groups)
    if (rows.size() > 1) tell_apart(rows);
}

bool Table::is_told(std::size_t column) const {
  return column == 0 || rows_.empty() ||
         std::ranges::any_of(rows_, [&](const Row& row) { return !row.cells[column].empty(); });
}

void Table::write_rows(Html& html, std::size_t from, std::size_t to) const {
  const auto table = html.element("table", {{"class", "stack"}});
  html.leaf("caption", caption_);
  {
    const auto head = html.element("thead");
    const auto row = html.element("tr");
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const Column& column = columns_[i];
      if (!is_told(i)) continue;
      const std::string_view kind = column.number ? "number" : "";
      if (column.sorted)
        html.leaf("th", column.name + "\u00a0▼", {{"scope", "col"}, {"class", kind}, {"aria-sort", "descending"}});
      else
        html.leaf("th", column.name, {{"scope", "col"}, {"class", kind}});
    }
  }
  const auto body = html.element("tbody");
  for (std::size_t at = from; at < to; ++at) {
    const Row& one = rows_[at];
    const auto row = one.id.empty() ? html.element("tr") : html.element("tr", {{"id", one.id}});
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (!is_told(i)) continue;
      const auto cell =
          html.element("td", {{"class", columns_[i].number ? "number" : ""}, {"data-label", columns_[i].name}});
      if (columns_[i].number)
        html.text(one.cells[i]);
      else
        write_breakable(html, one.cells[i]);
    }
  }
}

void Table::write(Html& html, std::size_t all, std::string_view where) {
  tell_apart();
  // A fold that holds two rows is no gain.
  const std::size_t open = rows_.size() <= kOpen + 2 ? rows_.size() : kOpen;
  write_rows(html, 0, open);
  if (rows_.size() > open) {
    const auto details = html.element("details");
    html.leaf("summary", absl::StrCat("Rows ", open + 1, " to ", rows_.size(), " of ", grouped(all)));
    write_rows(html, open, rows_.size());
  }
  write_rest(html, all, rows_.size(), where);
}

void Table::write_unfolded(Html& html, std::size_t all, std::string_view where) {
  tell_apart();
  write_rows(html, 0, rows_.size());
  write_rest(html, all, rows_.size(), where);
}

void write_rest(Html& html, std::size_t all, std::size_t shown, std::string_view where) {
  if (all <= shown) return;
  html.leaf("p", counted(all - shown, "more is", "more are") + " in the " + std::string(where) + " report.",
            {{"class", "soft"}});
}

}  // namespace castscope::report
