// Whether a checkout differs from its commit, asked of Git in the background: the job is not kept waiting.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

namespace castscope::cli {

class GitDirty {
 public:
  // `tell` is called by another thread, once, if Git answers in time.
  GitDirty(std::string checkout, std::function<void(bool)> tell);
  // Gives Git a last moment, and then up: nothing is told after that.
  ~GitDirty();

 private:
  using Clock = std::chrono::steady_clock;
  std::atomic<Clock::rep> deadline_;
  std::thread thread_;
};

}  // namespace castscope::cli
