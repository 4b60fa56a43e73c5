#include "server/report/html/table.h"

#include <utility>

#include "server/report/text/words.h"

namespace castscope::report {

Table::Table(Html& html, std::vector<Column> columns)
    : html_(html), columns_(std::move(columns)), table_(html.element("table", {{"class", "stack"}})) {
  const auto head = html_.element("thead");
  const auto row = html_.element("tr");
  for (const Column& column : columns_) html_.leaf("th", column.name, {{"class", column.number ? "number" : ""}});
}

void Table::row(const std::vector<std::string>& cells, std::string_view id) {
  const auto row = id.empty() ? html_.element("tr") : html_.element("tr", {{"id", id}});
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    html_.leaf("td", cells[i], {{"class", columns_[i].number ? "number" : ""}, {"data-label", columns_[i].name}});
  }
}

void write_rest(Html& html, std::size_t all, std::size_t shown, const char* where) {
  if (all <= shown) return;
  html.leaf("p", counted(all - shown, "more is", "more are") + " in the " + where + " report.", {{"class", "soft"}});
}

}  // namespace castscope::report
