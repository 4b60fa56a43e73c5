#include "server/store/file/one_file.h"

#include <utility>

#include "server/store/file/checksum.h"
#include "server/store/file/event_merge.h"

namespace castscope::store {

absl::Status move_to(Database& database, const std::string& place) {
  absl::Status status;
  {
    auto copy = Statement::prepare(database, "VACUUM INTO ?");
    status = copy.ok() ? copy->run(place) : copy.status();
  }
  (void)database.close();
  if (!status.ok()) return status;
  auto opened = Database::open(place, SQLITE_OPEN_READWRITE);
  if (opened.ok()) database = *std::move(opened);
  return opened.status();
}

namespace {

// Of a run that has ended the file has had them since then.
absl::Status give_checksums(Database& database) {
  const auto has_them = has_checksums(database);
  if (!has_them.ok() || *has_them) return has_them.status();
  CASTSCOPE_RETURN_IF_ERROR(database.exec("BEGIN IMMEDIATE"));
  absl::Status status = write_checksums(database);
  if (status.ok()) status = database.exec("COMMIT");
  if (!status.ok()) (void)database.exec("ROLLBACK");
  return status;
}

}  // namespace

absl::Status leave_one_file(Database& database, absl::Status status) {
  // Only saves room: when it cannot be done, on a full disk, the blocks stay as they are.
  if (status.ok() && merge_event_blocks(database).ok()) (void)database.exec("PRAGMA incremental_vacuum");
  if (status.ok()) status = give_checksums(database);
  // That cannot be done while somebody else has it open; then everything is at least in the file itself, and whoever
  // closes it last takes the log away.
  (void)database.exec("PRAGMA busy_timeout = 1000");
  if (absl::Status one_file = database.exec("PRAGMA journal_mode = DELETE"); absl::IsUnavailable(one_file)) {
    (void)database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  } else {
    status.Update(one_file);
  }
  status.Update(database.close());
  return status;
}

}  // namespace castscope::store
