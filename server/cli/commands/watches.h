// Messages that castscope shows beside a job while it waits. Each watch has a thread of its own until it is destroyed.
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

// Runs `look` again and again, until it returns false.
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

// A line that is redrawn over and over, with findings as they come up. It is shown only on request: the job may draw a
// line of its own.
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

// Says soon that the collector cannot be reached, and later that it can be; once each. `address` "" = there is no
// collector.
class CollectorWatch {
 public:
  CollectorWatch(relay::Relay& relay, const CollectorAddress& collector);

 private:
  bool look();
  std::string trouble();
  relay::Relay& relay_;
  const CollectorAddress collector_;
  int in_trouble_ = 0;
  bool said_ = false;
  std::unique_ptr<Watch> watch_;
};

// Says the sentence to a person at a terminal after a second, unless it is destroyed before.
std::unique_ptr<Watch> say_when_late(const std::string& sentence);

// Says to a person at a terminal how far it is, after 2 s, 4 s, 8 s and so on, until it is destroyed.
std::unique_ptr<Watch> say_while_it_lasts(std::function<std::string()> how_far);

}  // namespace castscope::cli
