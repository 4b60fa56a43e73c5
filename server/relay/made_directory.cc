#include "server/relay/made_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

namespace castscope::relay {

MadeDirectory::MadeDirectory(std::string path)
    : path_(std::move(path)), fd_(open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {}

MadeDirectory::~MadeDirectory() {
  if (fd_ >= 0) close(fd_);
}

bool MadeDirectory::is_there(Clock::time_point now, Clock::duration interval) {
  if (!there_ || now < next_look_) return there_;
  next_look_ = now + interval;
  return is_there_now();
}

bool MadeDirectory::is_there_now() {
  struct stat made {
  }, found{};
  if (fd_ < 0 || fstat(fd_, &made) != 0 || stat(path_.c_str(), &found) != 0 || made.st_dev != found.st_dev ||
      made.st_ino != found.st_ino)
    there_ = false;  // for good, also when it comes back
  return there_;
}

}  // namespace castscope::relay
