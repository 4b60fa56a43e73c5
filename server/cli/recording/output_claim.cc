#include "server/cli/recording/output_claim.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "agent/hash/fnv1a.h"
#include "server/cli/job/run_directory.h"

namespace castscope::cli {
namespace {

std::string lock_path(const std::string& stem) {
  auto base = RunDirectory::base();
  if (!base.ok()) return "";
  const std::uint64_t hash = castscope_fnv1a(CASTSCOPE_FNV1A_SHORT_START, stem.data(), stem.size());
  return absl::StrCat(*base, "/writing-", absl::Hex(hash, absl::kZeroPad16));
}

}  // namespace

bool OutputClaim::take(const std::string& stem) {
  release();
  const std::string path = lock_path(stem);
  if (path.empty()) return true;
  for (;;) {
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return true;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
      const bool taken = errno == EWOULDBLOCK;
      close(fd);
      return !taken;
    }
    struct stat info;
    if (fstat(fd, &info) == 0 && info.st_nlink > 0) {
      fd_ = fd;
      path_ = path;
      return true;
    }
    close(fd);  // the holder before has just removed it
  }
}

void OutputClaim::release() {
  if (fd_ < 0) return;
  unlink(path_.c_str());
  close(fd_);
  fd_ = -1;
}

}  // namespace castscope::cli
