#include "server/store/file/checksum.h"

#include <zlib.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/store/file/row_schema.h"
#include "server/store/file/schema.h"

namespace castscope::store {
namespace {

constexpr std::string_view kShown[] = {"findings", "source_files", "source_lines"};

std::string_view name_of(Part part) { return part == Part::kEvidence ? "checksum" : "checksum_shown"; }

// Only tables that castscope makes count: a table that somebody else added damages nothing.
void add_tables(std::string_view schema, Part part, std::vector<std::string>& names) {
  constexpr std::string_view kBegin = "CREATE TABLE ";
  for (std::size_t at = schema.find(kBegin); at != schema.npos; at = schema.find(kBegin, at)) {
    at += kBegin.size();
    const std::string_view name = schema.substr(at, schema.find_first_of(" (", at) - at);
    const bool shown = std::find(std::begin(kShown), std::end(kShown), name) != std::end(kShown);
    if (name != "event_blocks" && shown == (part == Part::kShown)) names.emplace_back(name);
  }
}

// A checksum goes by the order in which the tables stood in the schema's text when format 6 was made. Tables that
// follow from their rows' columns stand behind all others now: these stood before another one.
void put_in_order(std::vector<std::string>& tables) {
  constexpr std::pair<std::string_view, std::string_view> kBefore[] = {{"flows", "local_uses"},
                                                                       {"facts", "local_uses"},
                                                                       {"flow_counts", "value_ranges"},
                                                                       {"fact_counts", "value_ranges"},
                                                                       {"matmuls", "local_kernels"}};
  for (const auto& [table, next] : kBefore) {
    if (std::erase(tables, table) == 0) continue;
    tables.emplace(std::find(tables.begin(), tables.end(), next), table);
  }
}

class Crc {
 public:
  // Neighbours must not run together: "ab", "c" is not "a", "bc".
  void add(const void* data, std::size_t size) {
    const std::uint64_t length = size;
    raw(&length, sizeof length);
    raw(data, size);
  }
  std::string text() const { return absl::StrCat(absl::Hex(crc_, absl::kZeroPad8)); }

 private:
  // SQLite gives no address for an empty text, and with none crc32_z() would begin anew (zlib.h: "If buf is Z_NULL,
  // this function returns the required initial value").
  void raw(const void* data, std::size_t size) {
    if (size > 0) crc_ = crc32_z(crc_, static_cast<const Bytef*>(data), size);
  }
  uLong crc_ = crc32_z(0, nullptr, 0);
};

void add_row(sqlite3_stmt* row, Crc& crc) {
  for (int column = 0; column < sqlite3_column_count(row); ++column) {
    const int type = sqlite3_column_type(row, column);
    crc.add(&type, sizeof type);
    if (type == SQLITE_INTEGER) {
      const std::int64_t number = sqlite3_column_int64(row, column);
      crc.add(&number, sizeof number);
    } else if (type == SQLITE_FLOAT) {
      const double number = sqlite3_column_double(row, column);
      crc.add(&number, sizeof number);
    } else if (type != SQLITE_NULL) {
      const void* bytes = sqlite3_column_blob(row, column);
      crc.add(bytes, static_cast<std::size_t>(sqlite3_column_bytes(row, column)));
    }
  }
}

absl::StatusOr<std::string> checksum_of(const Database& database, Part part) {
  std::vector<std::string> tables;
  add_tables(kTables, part, tables);
  add_tables(kDeepTables, part, tables);
  add_tables(kGpuTables, part, tables);
  add_tables(row_tables(), part, tables);
  put_in_order(tables);
  Crc crc;
  for (const std::string& table : tables) {
    crc.add(table.data(), table.size());
    const char* const less_itself = table == "run" ? " WHERE key NOT LIKE 'checksum%'" : "";
    auto rows = Statement::prepare(database, absl::StrCat("SELECT * FROM ", table, less_itself));
    if (!rows.ok()) return rows.status();
    for (;;) {
      const auto more = rows->next();
      if (!more.ok()) return more.status();
      if (!*more) break;
      add_row(rows->handle(), crc);
    }
  }
  return crc.text();
}

}  // namespace

absl::Status write_checksums(Database& database) {
  auto put = Statement::prepare(database, "INSERT OR REPLACE INTO run VALUES (?,?)");
  if (!put.ok()) return put.status();
  for (const Part part : {Part::kEvidence, Part::kShown}) {
    const auto checksum = checksum_of(database, part);
    if (!checksum.ok()) return checksum.status();
    CASTSCOPE_RETURN_IF_ERROR(put->run(name_of(part), *checksum));
  }
  return absl::OkStatus();
}

absl::Status remove_checksums(Database& database) {
  return database.exec("DELETE FROM run WHERE key LIKE 'checksum%'");
}

absl::Status check_checksum(const Database& database, Part part) {
  auto row = Statement::prepare(database, "SELECT value FROM run WHERE key = ?");
  if (!row.ok()) return row.status();
  row->bind_all(name_of(part));
  const auto has_one = row->next();
  if (!has_one.ok() || !*has_one) return has_one.status();
  const std::string told = row->text(0);
  const auto checksum = checksum_of(database, part);
  if (!checksum.ok()) return checksum.status();
  if (*checksum == told) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(database.path(),
                                          ": the run file was changed or damaged after it was written (its checksum "
                                          "is not that of its contents); take an intact copy"));
}

}  // namespace castscope::store
