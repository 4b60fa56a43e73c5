// Whether the run directory is still the one that was made. The relay reads by path; if somebody removes the folder, or
// puts another one in its place, processes that begin after that leave their record where nobody reads it.
// is_there_now() may be called by any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <string>

namespace castscope::relay {

class MadeDirectory {
 public:
  using Clock = std::chrono::steady_clock;
  // Keeps the folder open, so that its inode is given to no other folder.
  explicit MadeDirectory(std::string path);
  ~MadeDirectory();
  MadeDirectory(const MadeDirectory&) = delete;
  MadeDirectory& operator=(const MadeDirectory&) = delete;

  // Looks each `interval`; returns false from the first look on that found another folder there, or none.
  bool is_there(Clock::time_point now, Clock::duration interval);
  bool is_there_now();

 private:
  const std::string path_;
  const int fd_;
  std::atomic<bool> there_ = true;
  Clock::time_point next_look_{};
};

}  // namespace castscope::relay
