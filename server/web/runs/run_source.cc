#include "server/web/runs/run_source.h"

#include <sys/stat.h>

#include <array>
#include <random>

#include "absl/strings/str_cat.h"

namespace castscope::web {
namespace {

// A number that two viewers do not share, and one that two openings in this viewer do not.
std::string new_opening() {
  static const std::uint32_t viewer = std::random_device()();
  static std::atomic<std::uint32_t> opened = 0;
  return absl::StrCat(absl::Hex(viewer), "-", ++opened);
}

}  // namespace

RunSource::RunSource(std::string id, std::string file)
    : id_(std::move(id)), file_(std::move(file)), opening_(new_opening()) {}

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
