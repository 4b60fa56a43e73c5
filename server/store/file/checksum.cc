#include "server/store/file/checksum.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/event_block.h"
#include "server/store/file/row_schema.h"
#include "server/store/file/run_file.h"
#include "server/store/file/schema.h"

namespace castscope::store {
namespace {

constexpr std::string_view kShown[] = {"findings", "source_files", "source_lines"};

constexpr Part kParts[] = {Part::kEvidence, Part::kShown, Part::kEvents};

std::string_view name_of(Part part) {
  switch (part) {
    case Part::kEvidence:
      return "checksum";
    case Part::kShown:
      return "checksum_shown";
    case Part::kEvents:
      break;
  }
  return "checksum_events";
}

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

absl::Status add_rows(const Database& database, std::string_view sql, Crc& crc) {
  auto rows = Statement::prepare(database, sql);
  if (!rows.ok()) return rows.status();
  for (;;) {
    const auto more = rows->next();
    if (!more.ok() || !*more) return more.status();
    add_row(rows->handle(), crc);
  }
}

absl::Status add_tables_of(const Database& database, Part part, std::int64_t format, Crc& crc) {
  std::vector<std::string> tables;
  add_tables(kTables, part, tables);
  add_tables(kDeepTables, part, tables);
  add_tables(kGpuTables, part, tables);
  add_tables(row_tables(), part, tables);
  put_in_order(tables);
  const char* const less_themselves = format == kWeaklyCheckedFormat
                                          ? " WHERE key NOT LIKE 'checksum%'"
                                          : " WHERE key NOT IN ('checksum', 'checksum_shown', 'checksum_events')";
  for (const std::string& table : tables) {
    crc.add(table.data(), table.size());
    CASTSCOPE_RETURN_IF_ERROR(
        add_rows(database, absl::StrCat("SELECT * FROM ", table, table == "run" ? less_themselves : ""), crc));
  }
  return absl::OkStatus();
}

// Reads the first bytes of blocks, and only these: SQL would read each block to its end.
class BlockHeads {
 public:
  explicit BlockHeads(const Database& database) : database_(database) {}
  ~BlockHeads() { sqlite3_blob_close(blob_); }
  BlockHeads(const BlockHeads&) = delete;
  BlockHeads& operator=(const BlockHeads&) = delete;

  absl::Status add(std::int64_t id, Crc& crc) {
    const int opened =
        blob_ == nullptr ? sqlite3_blob_open(database_.handle(), "main", "event_blocks", "packed_events", id, 0, &blob_)
                         : sqlite3_blob_reopen(blob_, id);
    if (opened == SQLITE_ERROR) return crc.add("", 0), close();  // the row has no block, which is damage too
    if (opened != SQLITE_OK) return database_.error(opened);
    std::array<char, wire::kBodyBegin> head{};
    const int bytes = std::min(sqlite3_blob_bytes(blob_), static_cast<int>(head.size()));
    if (const int read = sqlite3_blob_read(blob_, head.data(), bytes, 0); read != SQLITE_OK)
      return database_.error(read);
    crc.add(head.data(), static_cast<std::size_t>(bytes));
    return absl::OkStatus();
  }

 private:
  absl::Status close() {
    sqlite3_blob_close(std::exchange(blob_, nullptr));
    return absl::OkStatus();
  }
  const Database& database_;
  sqlite3_blob* blob_ = nullptr;
};

// Of each block its place, its length and its head, where the checksum of its bytes is (proto/event_block.h).
absl::Status add_events(const Database& database, Crc& crc) {
  auto rows = Statement::prepare(database,
                                 "SELECT id, process, lane, block_number, kept_window, first_in_process_ns, "
                                 "last_in_process_ns, first_step, last_step, event_count, length(packed_events) "
                                 "FROM event_blocks ORDER BY id");
  if (!rows.ok()) return rows.status();
  BlockHeads heads(database);
  for (;;) {
    const auto more = rows->next();
    if (!more.ok() || !*more) return more.status();
    add_row(rows->handle(), crc);
    CASTSCOPE_RETURN_IF_ERROR(heads.add(rows->number(0), crc));
  }
}

absl::StatusOr<std::string> checksum_of(const Database& database, Part part) {
  const auto format = format_of(database);
  if (!format.ok()) return format.status();
  Crc crc;
  // A file that says that it is of another format than it is has no right checksum.
  if (*format != kWeaklyCheckedFormat) crc.add(&*format, sizeof *format);
  const absl::Status status =
      part == Part::kEvents ? add_events(database, crc) : add_tables_of(database, part, *format, crc);
  if (!status.ok()) return status;
  return crc.text();
}

absl::StatusOr<bool> has_row(const Database& database, const char* sql) {
  auto rows = Statement::prepare(database, sql);
  if (!rows.ok()) return rows.status();
  return rows->next();
}

absl::Status changed(const Database& database, const char* how) {
  return absl::DataLossError(absl::StrCat(
      database.path(), ": the run file was changed or damaged after it was written (", how, "); take an intact copy"));
}

// Where it may be missing, that is no damage.
absl::Status check_missing(const Database& database, std::int64_t format) {
  if (format == kWeaklyCheckedFormat) return absl::OkStatus();
  const auto finished = was_finished(database);
  if (!finished.ok() || !*finished) return finished.status();
  return changed(database, "it was finished, and the checksum that it was given then is gone");
}

}  // namespace

absl::Status write_checksum(Database& database, Part part) {
  const auto checksum = checksum_of(database, part);
  if (!checksum.ok()) return checksum.status();
  auto put = Statement::prepare(database, "INSERT OR REPLACE INTO run VALUES (?,?)");
  return put.ok() ? put->run(name_of(part), *checksum) : put.status();
}

absl::Status write_checksums(Database& database) {
  for (const Part part : kParts) CASTSCOPE_RETURN_IF_ERROR(write_checksum(database, part));
  return absl::OkStatus();
}

absl::Status remove_checksums(Database& database) {
  return database.exec("DELETE FROM run WHERE key LIKE 'checksum%'");
}

absl::StatusOr<bool> has_checksums(const Database& database) {
  return has_row(database, "SELECT 1 FROM run WHERE key LIKE 'checksum%'");
}

absl::StatusOr<bool> was_finished(const Database& database) {
  return has_row(database, "SELECT 1 FROM run WHERE key IN " CASTSCOPE_END_KEYS " OR key LIKE 'checksum%'");
}

absl::Status check_checksum(const Database& database, Part part) {
  const auto format = format_of(database);
  if (!format.ok()) return format.status();
  auto row = Statement::prepare(database, "SELECT value FROM run WHERE key = ?");
  if (!row.ok()) return row.status();
  row->bind_all(name_of(part));
  const auto has_one = row->next();
  if (!has_one.ok()) return has_one.status();
  if (!*has_one) return check_missing(database, *format);
  const bool is_text = sqlite3_column_type(row->handle(), 0) == SQLITE_TEXT;
  const std::string told = row->text(0);
  const auto checksum = checksum_of(database, part);
  if (!checksum.ok()) return checksum.status();
  if (is_text && *checksum == told) return absl::OkStatus();
  return changed(database, part == Part::kEvents ? "its events are not those that it had"
                                                 : "its checksum is not that of its contents");
}

absl::Status check_checksums(const Database& database) {
  for (const Part part : kParts) CASTSCOPE_RETURN_IF_ERROR(check_checksum(database, part));
  return absl::OkStatus();
}

}  // namespace castscope::store
