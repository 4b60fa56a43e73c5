#include "server/store/file/run_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "server/store/file/schema.h"
#include "server/store/file/schema_check.h"

namespace castscope::store {

namespace {

std::uint32_t big_endian(const std::array<char, 100>& header, int at, int bytes) {
  std::uint32_t value = 0;
  for (int i = 0; i < bytes; ++i) value = value << 8 | static_cast<unsigned char>(header[at + i]);
  return value;
}

// Reads the first bytes of a file by SQLite's own descriptor, and returns how many there are. A descriptor of our own,
// when it is closed, would take the locks away that this process holds on the file where it writes it (POSIX): the next
// reader, of another process, would then delete the log that is being written.
absl::StatusOr<std::size_t> read_header(const std::string& path, std::array<char, 100>& header) {
  const auto database = Database::open(path, SQLITE_OPEN_READONLY);
  if (access(path.c_str(), R_OK) != 0 || !database.ok())
    return absl::PermissionDeniedError(absl::StrCat(path, ": the file cannot be read (", std::strerror(errno), ")"));
  return database->first_bytes(header.data(), header.size());
}

// Faults that show in the file itself are told before SQLite is asked, whose words for them are not for users.
absl::Status check_header(const std::string& path) {
  struct stat file {};
  if (stat(path.c_str(), &file) != 0) {
    return absl::NotFoundError(absl::StrCat(path, ": ", std::strerror(errno)));
  }
  if (!S_ISREG(file.st_mode)) {  // a pipe would keep us waiting for its writer
    return absl::InvalidArgumentError(absl::StrCat(
        path, S_ISDIR(file.st_mode) ? ": this is a folder, not a run file" : ": this is not an ordinary file"));
  }
  CASTSCOPE_RETURN_IF_ERROR(no_links_beside(path));
  std::array<char, 100> header{};
  const auto read = read_header(path, header);
  if (!read.ok()) return read.status();
  const bool short_file = *read < header.size();
  if (std::memcmp(header.data(), "SQLite format 3", 16) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, file.st_size == 0 ? ": the file is empty" : ": this is not a castscope run file"));
  }
  if (short_file)
    return absl::DataLossError(absl::StrCat(path, ": the run file is cut short after ", file.st_size, " bytes"));
  struct stat log {};
  if (stat((path + "-wal").c_str(), &log) == 0 && log.st_size > 0)
    return absl::OkStatus();  // not yet moved into the file
  const std::uint32_t page_field = big_endian(header, 16, 2);
  const std::uint64_t page = page_field == 1 ? 65536 : page_field;
  const std::uint64_t wanted = page * big_endian(header, 28, 4);
  if (static_cast<std::uint64_t>(file.st_size) < wanted) {
    return absl::DataLossError(absl::StrCat(path, ": the run file is cut short: ", file.st_size, " of ", wanted,
                                            " bytes are there; take an intact copy"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::int64_t> pragma(const Database& database, const char* sql) {
  auto statement = Statement::prepare(database, sql);
  if (!statement.ok()) return statement.status();
  const auto row = statement->next();
  if (!row.ok()) return row.status();
  return *row ? statement->number(0) : 0;
}

absl::Status check_format(const Database& database) {
  const std::string& path = database.path();
  const auto application = pragma(database, "PRAGMA application_id");
  if (!application.ok()) return application.status();
  if (*application != kApplicationId) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": this is an SQLite file, but not one of castscope's run files"));
  }
  const auto format = format_of(database);
  if (!format.ok()) return format.status();
  if (!is_readable(*format)) {
    return absl::UnimplementedError(absl::StrCat(
        path, ": the run file has format ", *format, ", this castscope reads ", kFormat, "; read it with ",
        *format > kFormat ? "a newer castscope, as the one that wrote it" : "the castscope that wrote it"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Database> open_database(const std::string& path, int flags, const std::string& uri = "") {
  auto database = Database::open(path, flags, uri);
  if (!database.ok()) return database;
  CASTSCOPE_RETURN_IF_ERROR(check_format(*database));
  CASTSCOPE_RETURN_IF_ERROR(check_schema(*database));
  return database;
}

// A path may hold three characters that mean something in a URI.
std::string immutable_uri(const std::string& path) {
  return absl::StrCat("file:", absl::StrReplaceAll(path, {{"%", "%25"}, {"?", "%3f"}, {"#", "%23"}}), "?immutable=1");
}

}  // namespace

absl::StatusOr<std::int64_t> format_of(const Database& database) { return pragma(database, "PRAGMA user_version"); }

absl::StatusOr<Database> open_to_read(const std::string& path) {
  CASTSCOPE_RETURN_IF_ERROR(check_header(path));
  auto database = open_database(path, SQLITE_OPEN_READONLY);
  if (!absl::IsPermissionDenied(database.status())) return database;
  // The index cannot be made in this folder. Without a log the file is all there is.
  struct stat log {};
  if (stat((path + "-wal").c_str(), &log) != 0 || log.st_size == 0) {
    return open_database(path, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, immutable_uri(path));
  }
  return absl::PermissionDeniedError(
      absl::StrCat(path, ": part of the run is in ", path,
                   "-wal, and SQLite reads that only in a folder that you may write to: copy both files to one"));
}

absl::StatusOr<Database> open_run_file(const std::string& path, bool to_write) {
  CASTSCOPE_RETURN_IF_ERROR(check_header(path));
  // Reading a file in WAL mode needs its index file, hence write access where it is to be had.
  auto database = open_database(path, SQLITE_OPEN_READWRITE);
  if (to_write || !absl::IsPermissionDenied(database.status())) return database;
  return open_to_read(path);
}

absl::StatusOr<Database> open_as_it_is(const std::string& path) {
  absl::StatusOr<Database> whole = open_run_file(path);
  if (whole.ok()) whole->leave_out_unreadable();
  if (!absl::IsDataLoss(whole.status())) return whole;
  // SQLite refuses a file that is shorter than its header says, unless it is told that its user knows what he does. A
  // log beside it is not looked at: what is damaged must not be written to.
  auto database = Database::open(path, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, immutable_uri(path));
  if (!database.ok() || !database->exec("PRAGMA writable_schema = ON").ok()) return whole;
  if (absl::Status ours = check_format(*database); !ours.ok()) return absl::IsDataLoss(ours) ? whole.status() : ours;
  database->leave_out_unreadable();
  CASTSCOPE_RETURN_IF_ERROR(check_schema(*database));
  return database;
}

}  // namespace castscope::store
