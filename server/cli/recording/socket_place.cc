#include "server/cli/recording/socket_place.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "absl/strings/str_cat.h"

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;

// Many systems give each user a group of the same name, and let it write.
bool others_may_write(const struct stat& folder) {
  const bool by_group = (folder.st_mode & S_IWGRP) != 0 && folder.st_gid != getegid() && folder.st_gid != 0;
  return by_group || (folder.st_mode & S_IWOTH) != 0;
}

// Whether others may make this entry of the folder, or put another one in its place.
bool others_may_make(const fs::path& folder, const fs::path& entry, bool is_socket) {
  struct stat of_folder {
  }, of_entry{};
  if (stat(folder.c_str(), &of_folder) != 0 || !others_may_write(of_folder)) return false;
  if (is_socket || (of_folder.st_mode & S_ISVTX) == 0) return true;  // a collector that ends takes its socket away
  return lstat(entry.c_str(), &of_entry) != 0 || (of_entry.st_uid != geteuid() && of_entry.st_uid != 0);
}

absl::Status check_way(const fs::path& path) {
  fs::path folder = path.root_path();
  for (const fs::path& name : path.relative_path()) {
    const fs::path entry = folder / name;
    if (others_may_make(folder, entry, entry == path))
      return absl::PermissionDeniedError(
          absl::StrCat("no token is sent to ", path.string(), ": others may make ", entry.string(),
                       ". The collector's socket belongs into a folder that its user alone may write to"));
    folder = entry;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status check_place_of_socket(const std::string& path) {
  std::error_code error;
  const fs::path given = fs::absolute(path, error).lexically_normal();
  if (error) return absl::OkStatus();  // there is no working folder, and nothing to be reached from it
  if (absl::Status status = check_way(given); !status.ok()) return status;
  const fs::path folder = fs::weakly_canonical(given.parent_path(), error);  // behind links
  return error ? absl::OkStatus() : check_way(folder / given.filename());
}

}  // namespace castscope::cli
