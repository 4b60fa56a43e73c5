// Reads definitions that say what their columns are (run/row_definitions.h), and how often each was seen.
#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "server/store/file/sqlite.h"
#include "server/store/run/run_data.h"

namespace castscope::store {

template <typename Row>
absl::Status read_rows(const Database& database, RunData& data) {
  std::string columns = "id";
  Row none;
  Row::columns(none, [&](const char* name, auto&) { absl::StrAppend(&columns, ", ", name); });
  const std::string sql = absl::StrCat("SELECT ", columns, " FROM ", Row::kTable, " ORDER BY id");
  return each(database, sql.c_str(), [&](const Statement& statement) {
    Row& row = Counted<Row>::rows(data).emplace_back();
    int column = 0;
    statement.get(column++, row.id);
    Row::columns(row, [&](const char*, auto& value) { statement.get(column++, value); });
  });
}

template <typename Row>
absl::Status read_counts_of(const Database& database, RunData& data) {
  using Of = Counted<Row>;
  const std::string sql = absl::StrCat("SELECT process, ", Of::kColumn, ", sum(", Row::kTimes, ") FROM ", Of::kTable,
                                       " GROUP BY process, ", Of::kColumn, " ORDER BY process, ", Of::kColumn);
  return each(database, sql.c_str(), [&](const Statement& statement) {
    auto& count = Of::counts(data).emplace_back();
    statement.read(count.process, count.*Of::kNumber, count.times);
  });
}

}  // namespace castscope::store
