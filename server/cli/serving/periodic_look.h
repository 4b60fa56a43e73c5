// Looks after something every so often, in a thread of its own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace castscope::cli {

class PeriodicLook {
 public:
  // The first look comes after `every`. `look` may throw std::bad_alloc: the next one comes all the same.
  PeriodicLook(std::chrono::milliseconds every, std::function<void()> look);
  ~PeriodicLook();  // waits for a look that is under way

  // No further look begins. Returns whether none is under way after at most this time.
  bool stop(std::chrono::milliseconds at_most);

 private:
  void run();

  const std::chrono::milliseconds every_;
  const std::function<void()> look_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false, ended_ = false;
  std::thread thread_;
};

}  // namespace castscope::cli
