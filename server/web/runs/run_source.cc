#include "server/web/runs/run_source.h"

#include <sys/stat.h>

#include <array>

namespace castscope::web {

std::string_view name(RunState state) {
  constexpr std::array<std::string_view, 5> kNames = {"loading", "live", "finished", "lost", "gone"};
  return kNames[static_cast<std::size_t>(state)];
}

FileIdentity::FileIdentity(const std::string& path) {
  struct stat about {};
  if (stat(path.c_str(), &about) != 0) return;
  device_ = about.st_dev;
  inode_ = about.st_ino;
}

bool FileIdentity::still_there(const std::string& path) const {
  struct stat about {};
  return stat(path.c_str(), &about) == 0 && about.st_dev == device_ && about.st_ino == inode_;
}

}  // namespace castscope::web
