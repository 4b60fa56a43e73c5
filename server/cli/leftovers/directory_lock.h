// One `castscope recover` at a time is at work with a run directory.
#pragma once

#include <string>

namespace castscope::cli {

class DirectoryLock {
 public:
  explicit DirectoryLock(const std::string& directory);
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;
  // Another process has the lock. A file system that has no locks gives one to everybody.
  bool is_taken() const { return is_taken_; }

 private:
  const int folder_;
  bool is_taken_ = false;
};

}  // namespace castscope::cli
