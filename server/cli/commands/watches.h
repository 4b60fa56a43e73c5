// What castscope says beside a job while it waits: each in a thread of its own, until it is destroyed.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "server/cli/recording/recording.h"

namespace castscope::cli {

// Runs `look` again and again; it returns false when it need not be asked any more.
class Watch {
 public:
  Watch(std::chrono::milliseconds interval, std::function<bool()> look);
  ~Watch();

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopped_ = false;
  std::thread thread_;
};

// A line that is drawn over and over, and findings as they come up, only when asked for: the job may draw its own.
class ProgressLine {
 public:
  ProgressLine(Recording& recording, bool wanted);
  ~ProgressLine();

 private:
  void draw(const std::string& text);
  Recording& recording_;
  const std::string folder_;
  std::size_t drawn_ = 0;
  std::unique_ptr<Watch> watch_;
};

// Says soon that the collector cannot be reached, and when it can be: once each. `address` "" = there is none.
class CollectorWatch {
 public:
  CollectorWatch(relay::Relay& relay, const std::string& address);

 private:
  bool look();
  relay::Relay& relay_;
  const std::string address_;
  int in_trouble_ = 0;
  bool said_ = false;
  std::unique_ptr<Watch> watch_;
};

// What a person at a terminal is told after a second, when what he waits for has not come.
std::unique_ptr<Watch> say_when_late(const std::string& sentence);

}  // namespace castscope::cli
