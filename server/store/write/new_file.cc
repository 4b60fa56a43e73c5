#include "server/store/write/new_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <span>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/store/file/checksum.h"
#include "server/store/file/no_room.h"
#include "server/store/file/row_schema.h"
#include "server/store/file/run_file.h"
#include "server/store/file/schema.h"
#include "server/store/run/names.h"
#include "server/store/write/run_keys.h"

namespace castscope::store {
namespace {

absl::Status write_names(Database& database) {
  auto add = Statement::prepare(database, "INSERT OR REPLACE INTO names VALUES (?,?,?)");
  if (!add.ok()) return add.status();
  const std::pair<const char*, std::span<const std::string_view>> lists[] = {{"dtype", dtype_names()},
                                                                             {"device", device_names()},
                                                                             {"cause", cause_names()},
                                                                             {"role", role_names()},
                                                                             {"phase", phase_names()},
                                                                             {"why_not_cached", why_not_cached_names()},
                                                                             {"region_kind", region_kind_names()},
                                                                             {"fact_kind", fact_kind_names()},
                                                                             {"staleness", staleness_names()},
                                                                             {"gpu_work", gpu_work_names()},
                                                                             {"matmul_compute", matmul_compute_names()},
                                                                             {"end_kind", process_end_names()},
                                                                             {"incomplete_reason", incomplete_names()}};
  for (const auto& [list, names] : lists) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      CASTSCOPE_RETURN_IF_ERROR(add->run(std::string_view(list), i, names[i]));
    }
  }
  return absl::OkStatus();
}

absl::Status sync(const std::string& path, int flags) {
  const int file = open(path.c_str(), flags | O_RDONLY | O_CLOEXEC);
  const bool done = file >= 0 && fsync(file) == 0;
  const int error = errno;
  if (file >= 0) close(file);
  if (done || error == EINVAL) return absl::OkStatus();  // a file system that cannot wait for a folder
  return absl::UnavailableError(absl::StrCat(path, ": the disk does not take it: ", std::strerror(error)));
}

}  // namespace

void remove_run_file(const std::string& path) {
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) unlink((path + suffix).c_str());
}

absl::Status make_new_file(const std::string& path, bool overwrite) {
  if (overwrite) remove_run_file(path);
  // Made exclusively, so that two runs that chose one name cannot both get it.
  const int file = open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0644);
  if (file >= 0) {
    close(file);
    return absl::OkStatus();
  }
  if (errno == EEXIST)
    return absl::AlreadyExistsError(absl::StrCat(path, ": the file exists; choose another name or use --force"));
  if (errno == ENOSPC) return no_room(path);
  return absl::PermissionDeniedError(absl::StrCat(path, ": the run file cannot be created (", std::strerror(errno),
                                                  "); check the folder and its rights"));
}

absl::Status sync_new_file(const std::string& path) {
  absl::Status status = sync(path, 0);
  status.Update(sync(std::filesystem::absolute(path).parent_path().string(), O_DIRECTORY));
  return status;
}

absl::Status lay_out_new_file(Database& database, const RunStart& start, bool keep_all) {
  // An empty file is worth no waiting for the disk.
  CASTSCOPE_RETURN_IF_ERROR(database.exec(absl::StrCat("PRAGMA page_size = 4096; PRAGMA synchronous = OFF; BEGIN; "
                                                       "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA application_id = ",
                                                       kApplicationId, "; PRAGMA user_version = ", kFormat)
                                              .c_str()));
  for (const char* const tables_of : {kTables, kDeepTables, kGpuTables})
    CASTSCOPE_RETURN_IF_ERROR(database.exec(tables_of));
  CASTSCOPE_RETURN_IF_ERROR(database.exec(row_tables().c_str()));
  for (const char* const views_of : {kViews, kDeepViews, kGpuViews}) CASTSCOPE_RETURN_IF_ERROR(database.exec(views_of));
  CASTSCOPE_RETURN_IF_ERROR(write_names(database));
  RunKeys keys;
  CASTSCOPE_RETURN_IF_ERROR(keys.prepare(database));
  CASTSCOPE_RETURN_IF_ERROR(keys.start(start, keep_all));
  return database.exec("COMMIT");
}

absl::Status bring_to_present_format(Database& database) {
  const auto format = format_of(database);
  if (!format.ok() || *format == kFormat) return format.status();
  const auto finished = was_finished(database);
  if (!finished.ok()) return finished.status();
  CASTSCOPE_RETURN_IF_ERROR(database.exec(absl::StrCat("BEGIN IMMEDIATE; PRAGMA user_version = ", kFormat).c_str()));
  absl::Status status = write_names(database);
  if (status.ok() && *finished) status = write_checksums(database);
  if (status.ok()) status = database.exec("COMMIT");
  if (!status.ok()) (void)database.exec("ROLLBACK");
  return status;
}

}  // namespace castscope::store
