#include "server/files/owner.h"

#include <unistd.h>

#include <filesystem>

namespace castscope::files {
namespace {

bool counts(uid_t owner, const struct stat& folder) {
  if (owner == geteuid() || owner == 0) return true;
  return owner == folder.st_uid && (folder.st_mode & S_IWOTH) == 0;
}

}  // namespace

std::optional<uid_t> stranger_who_owns(const std::string& path, const struct stat* opened) {
  struct stat named {
  }, folder{};
  const std::string parent = std::filesystem::path(path).parent_path().string();
  // Where the owner cannot be asked for, reading the file says what is wrong.
  if (lstat(path.c_str(), &named) != 0 || stat(parent.empty() ? "." : parent.c_str(), &folder) != 0)
    return std::nullopt;
  if (!counts(named.st_uid, folder)) return named.st_uid;
  // Between the two looks somebody may have put another file there.
  if (opened != nullptr && !S_ISLNK(named.st_mode) && !counts(opened->st_uid, folder)) return opened->st_uid;
  return std::nullopt;
}

}  // namespace castscope::files
