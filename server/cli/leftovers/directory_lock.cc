#include "server/cli/leftovers/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

namespace castscope::cli {

DirectoryLock::DirectoryLock(const std::string& directory)
    : folder_(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) {
  is_taken_ = folder_ >= 0 && flock(folder_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

DirectoryLock::~DirectoryLock() {
  if (folder_ >= 0) close(folder_);
}

}  // namespace castscope::cli
