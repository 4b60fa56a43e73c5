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
  // `at_first` is called at once, whenever the end comes, and the first look comes after `every`. `look` may throw
  // std::bad_alloc: the next one comes all the same. `at_first` may, too, and is called again then, before the next
  // look.
  PeriodicLook(std::chrono::milliseconds every, std::function<void()> look, std::function<void()> at_first = {});
  ~PeriodicLook();  // waits for a look that is under way

  // No further look begins. Returns whether none is under way after at most this time.
  bool stop(std::chrono::milliseconds at_most);

 private:
  void run();
  void look_once();

  const std::chrono::milliseconds every_;
  const std::function<void()> look_;
  std::function<void()> at_first_;  // empty once it was done
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false, ended_ = false;
  std::thread thread_;
};

}  // namespace castscope::cli
