#include "server/store/file/sqlite.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "server/store/file/no_room.h"

namespace castscope::store {

absl::Status no_links_beside(const std::string& path) {
  // A path that is a link itself is somebody's wish: SQLite's files are beside the file that it leads to.
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  const std::string file = error ? path : real.string();
  for (const char* const suffix : {"-wal", "-shm", "-journal"}) {
    const std::string beside = file + suffix;
    struct stat info {};
    if (lstat(beside.c_str(), &info) == 0 && S_ISLNK(info.st_mode))
      return absl::PermissionDeniedError(absl::StrCat(
          path, ": ", beside, " is a link, and is not followed: somebody may have put it there; remove it"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Database> Database::open(const std::string& path, int flags, const std::string& uri) {
  CASTSCOPE_RETURN_IF_ERROR(no_links_beside(path));
  Database database;
  database.path_ = path;
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(uri.empty() ? path.c_str() : uri.c_str(), &handle, flags, nullptr);
  database.handle_.reset(handle);
  if (code != SQLITE_OK) return database.error(code);
  sqlite3_busy_timeout(handle, 5000);  // a reader may hold a checkpoint back for a moment
  return database;
}

absl::Status Database::exec(const char* sql) {
  const int code = sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : error(code);
}

// SQLite quotes from the file, and a damaged file may hold anything: keep a sentence on one line of plain text.
static std::string printable(std::string text) {
  for (char& c : text)
    if (c < 0x20 || c > 0x7e) c = '?';
  return text;
}

// SQLite has no error of its own for this: what the system said is kept with each of its files. The index keeps
// nothing, and grows by 32 KB.
static bool met_file_size_limit(sqlite3* db, const std::string& path) {
  constexpr rlim_t kGrowth = 32 << 10;
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return false;
  int of_file = 0, of_log = 0;
  sqlite3_file* log = nullptr;
  sqlite3_file_control(db, "main", SQLITE_FCNTL_LAST_ERRNO, &of_file);
  sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
  if (log != nullptr && log->pMethods != nullptr) log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &of_log);
  struct stat index {};
  const bool index_is_full =
      stat((path + "-shm").c_str(), &index) == 0 && static_cast<rlim_t>(index.st_size) + kGrowth > limit.rlim_cur;
  return of_file == EFBIG || of_log == EFBIG || index_is_full;
}

absl::Status Database::close() {
  if (!handle_) return absl::OkStatus();
  const int code = sqlite3_close(handle_.get());
  if (code != SQLITE_OK) return error(code);
  (void)handle_.release();
  return absl::OkStatus();
}

bool Database::has_moved() const {
  int moved = 0;
  return handle_ != nullptr &&
         sqlite3_file_control(handle_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved != 0;
}

std::size_t Database::first_bytes(char* bytes, std::size_t size) const {
  sqlite3_file* file = nullptr;
  const int found = sqlite3_file_control(handle_.get(), "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (found != SQLITE_OK || file == nullptr || file->pMethods == nullptr) return 0;
  sqlite3_int64 length = 0;
  if (file->pMethods->xFileSize(file, &length) != SQLITE_OK) return 0;
  const auto there = std::min<std::size_t>(size, static_cast<std::size_t>(length));
  return file->pMethods->xRead(file, bytes, static_cast<int>(there), 0) == SQLITE_OK ? there : 0;
}

void Database::limit_work(std::uint64_t instructions) {
  constexpr int kBetweenLooks = 100;
  work_left_ = std::make_unique<std::uint64_t>(instructions / kBetweenLooks);
  const auto look = [](void* left) { return (*static_cast<std::uint64_t*>(left))-- == 0 ? 1 : 0; };
  sqlite3_progress_handler(handle_.get(), kBetweenLooks, look, work_left_.get());
}

absl::Status Database::error(int code) const {
  const std::string reason = printable(handle_ ? sqlite3_errmsg(handle_.get()) : sqlite3_errstr(code));
  const int kind = code & 0xff;
  if (handle_ && (kind == SQLITE_IOERR || kind == SQLITE_FULL) && met_file_size_limit(handle_.get(), path_)) {
    return absl::ResourceExhaustedError(
        absl::StrCat(path_, ": the file may not grow any more; raise the limit on file sizes (ulimit -f)"));
  }
  switch (kind) {
    case SQLITE_FULL:
      return no_room(path_);
    case SQLITE_CANTOPEN:
      if (has_no_inodes(path_)) return no_room(path_);  // for a file beside it
      return absl::PermissionDeniedError(absl::StrCat(path_, ": the file cannot be opened or created (", reason,
                                                      "); check the folder and its rights"));
    case SQLITE_READONLY:
      if (handle_ && sqlite3_extended_errcode(handle_.get()) == SQLITE_READONLY_DBMOVED) {
        return absl::AbortedError(absl::StrCat(path_, ": the file was moved or deleted while it was being written"));
      }
      return absl::PermissionDeniedError(
          absl::StrCat(path_, ": the file cannot be written (", reason, "); check its rights"));
    case SQLITE_INTERRUPT:
      return absl::InvalidArgumentError(
          absl::StrCat(path_, ": reading was stopped, since the file holds far more than a run has"));
    case SQLITE_NOTADB:
      return absl::InvalidArgumentError(absl::StrCat(path_, ": this is not a castscope run file"));
    case SQLITE_CORRUPT:
      return absl::DataLossError(absl::StrCat(path_, ": the run file is damaged or cut short (", reason,
                                              "); take an intact copy or record the run again"));
    case SQLITE_IOERR:
      return absl::UnavailableError(
          absl::StrCat(path_, ": reading or writing failed (", reason, "); check the disk for space and errors"));
    case SQLITE_NOMEM:
      return absl::ResourceExhaustedError(absl::StrCat(path_, ": there is not enough memory for this file now"));
    case SQLITE_BUSY:
      return absl::UnavailableError(absl::StrCat(path_, ": another program is writing to this file; try again later"));
    default:
      return absl::InternalError(absl::StrCat(path_, ": SQLite says: ", reason));
  }
}

absl::StatusOr<Statement> Statement::prepare(const Database& database, std::string_view sql) {
  Statement statement;
  statement.database_ = &database;
  sqlite3_stmt* handle = nullptr;
  const int code = sqlite3_prepare_v3(database.handle(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &handle, nullptr);
  statement.statement_.reset(handle);
  if (code != SQLITE_OK) return database.error(code);
  return statement;
}

absl::StatusOr<bool> Statement::next() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  sqlite3_reset(statement_.get());
  if (code == SQLITE_DONE) return false;
  return database_->error(code);
}

std::string Statement::text(int column) const {
  const auto* const text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  return text ? std::string(text, sqlite3_column_bytes(statement_.get(), column)) : std::string();
}

std::string_view Statement::blob(int column) const {
  const auto* const bytes = static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
  return bytes ? std::string_view(bytes, sqlite3_column_bytes(statement_.get(), column)) : std::string_view();
}

absl::Status prepare_all(const Database& database, std::span<const std::pair<Statement*, const char*>> all) {
  for (const auto& [statement, sql] : all) {
    auto prepared = Statement::prepare(database, sql);
    if (!prepared.ok()) return prepared.status();
    *statement = *std::move(prepared);
  }
  return absl::OkStatus();
}

absl::Status each(const Database& database, const char* sql, const std::function<void(const Statement&)>& take) {
  auto statement = Statement::prepare(database, sql);
  if (!statement.ok()) return statement.status();
  for (;;) {
    const auto more = statement->next();
    if (absl::IsDataLoss(more.status()) && database.leaves_out_unreadable()) {
      database.leave_out();
      return absl::OkStatus();
    }
    if (!more.ok() || !*more) return more.status();
    take(*statement);
  }
}

absl::Status none_lost(const Database& database, std::size_t lost, const char* what) {
  if (lost == 0) return absl::OkStatus();
  if (!database.leaves_out_unreadable())
    return absl::DataLossError(
        absl::StrCat(database.path(), ": the run file is damaged: ", what, "; take an intact copy"));
  database.leave_out();
  return absl::OkStatus();
}

}  // namespace castscope::store
