#include "server/store/file/no_room.h"

#include <sys/statvfs.h>

#include <filesystem>

#include "absl/strings/str_cat.h"

namespace castscope::store {

// A file system that does not number its inodes has 0 of 0 left.
bool has_no_inodes(const std::string& path) {
  std::error_code error;
  struct statvfs disk {};
  const std::string folder = std::filesystem::absolute(path, error).parent_path().string();
  return statvfs(folder.c_str(), &disk) == 0 && disk.f_files > 0 && disk.f_favail == 0;
}

absl::Status no_room(const std::string& path) {
  return absl::ResourceExhaustedError(absl::StrCat(
      path, has_no_inodes(path) ? ": the disk has no inodes left for another file (`df -i`); remove files there"
                                : ": the disk is full; free some space"));
}

}  // namespace castscope::store
