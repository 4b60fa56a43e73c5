// A table of definitions that say what their columns are (run/row_definitions.h): each content is one row with one
// run-wide number, whichever process brought it; and the table of how often each was seen.
#pragma once

#include <string>
#include <type_traits>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "server/store/file/sqlite.h"
#include "server/store/run/row_definitions.h"
#include "server/store/run/table.h"
#include "server/store/write/content.h"
#include "server/store/write/count_sql.h"

namespace castscope::store {

template <typename Row>
class RowTable {
 public:
  absl::Status prepare(const Database& database) {
    std::string values = "?";
    Row row;
    Row::columns(row, [&](const char*, auto&) { values += ",?"; });
    auto add = Statement::prepare(database, absl::StrCat("INSERT INTO ", Row::kTable, " VALUES (", values, ")"));
    if (!add.ok()) return add.status();
    add_ = *std::move(add);
    auto count =
        Statement::prepare(database, put_counts_sql(Counted<Row>::kTable, Counted<Row>::kColumn, {Row::kTimes}));
    if (!count.ok()) return count.status();
    put_count_ = *std::move(count);
    return absl::OkStatus();
  }
  // Takes over what an earlier life of the file defined.
  void adopt(const Table<Row>& rows) {
    for (const Row& row : rows) ids_.emplace(content_of(row), row.id);
  }
  // `row`: with run-wide numbers; its own `id` is not looked at.
  absl::StatusOr<Id<Row>> number(const Row& row) {
    const auto [it, is_new] = ids_.try_emplace(content_of(row), Id<Row>(ids_.size() + 1));
    if (!is_new) return it->second;
    add_.bind(1, it->second);
    int at = 1;
    Row::columns(row, [&](const char*, const auto& value) { add_.bind(++at, value); });
    if (absl::Status status = add_.run_bound(); !status.ok()) return status;
    return it->second;
  }
  // `id`: process << 48 | lane << 32 | the number that the process gave it.
  absl::Status put_count(std::uint64_t id, ProcessId process, std::uint32_t lane, Id<Row> number, std::uint64_t times) {
    return put_count_.run(id, process, lane, number, times);
  }

 private:
  static std::string content_of(const Row& row) {
    std::string bytes;
    Row::columns(row, [&](const char*, const auto& value) { bytes += content(value); });
    return bytes;
  }

  absl::flat_hash_map<std::string, Id<Row>> ids_;  // by content
  Statement add_, put_count_;
};

}  // namespace castscope::store
