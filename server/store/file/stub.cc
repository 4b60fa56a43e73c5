#include "server/store/file/stub.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <optional>

#include "server/store/file/schema.h"
#include "server/store/file/sqlite.h"

namespace castscope::store {
namespace {

// SQLite's journal of a file that was empty: it holds no page.
constexpr off_t kEmptyJournal = 512;

off_t size_of(const std::string& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0 ? info.st_size : 0;
}

std::optional<std::int64_t> number_of(const Database& database, const char* sql) {
  auto statement = Statement::prepare(database, sql);
  const auto row = statement.ok() ? statement->next() : statement.status();
  return row.ok() && *row ? std::make_optional(statement->number(0)) : std::nullopt;
}

// Of a file with bytes in it. What was half written is taken back by SQLite when it opens the file. An older castscope
// wrote the run's beginning into the log: where that is gone, it is not known what was in it.
bool has_no_run(const std::string& path) {
  auto database = Database::open(path, SQLITE_OPEN_READWRITE);
  if (!database.ok() || !database->exec("BEGIN EXCLUSIVE").ok()) return false;
  if (number_of(*database, "SELECT count(*) FROM sqlite_schema") == 0) return true;
  std::array<char, 20> header{};
  const bool has_log_format =
      database->first_bytes(header.data(), header.size()) < header.size() || header[18] != 1 || header[19] != 1;
  if (has_log_format && size_of(path + "-wal") == 0) return false;
  return number_of(*database, "PRAGMA application_id") == kApplicationId &&
         number_of(*database,
                   "SELECT (SELECT count(*) FROM run) + (SELECT count(*) FROM relays) + (SELECT count(*) "
                   "FROM processes) + (SELECT count(*) FROM lanes)") == 0;
}

}  // namespace

bool is_stub(const std::string& path) {
  struct stat info {};
  const bool is_ours = lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() &&
                       (info.st_mode & 077) == 0 && info.st_nlink == 1;
  if (!is_ours || !no_links_beside(path).ok()) return false;
  if (info.st_size > 0) return has_no_run(path);
  return size_of(path + "-wal") == 0 && size_of(path + "-journal") <= kEmptyJournal;
}

}  // namespace castscope::store
