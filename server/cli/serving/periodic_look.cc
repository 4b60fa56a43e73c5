#include "server/cli/serving/periodic_look.h"

#include <new>
#include <utility>

#include "server/log/log.h"

namespace castscope::cli {

PeriodicLook::PeriodicLook(std::chrono::milliseconds every, std::function<void()> look, std::function<void()> at_first)
    : every_(every), look_(std::move(look)), at_first_(std::move(at_first)), thread_([this] { run(); }) {}

PeriodicLook::~PeriodicLook() {
  stop(std::chrono::milliseconds(0));
  thread_.join();
}

bool PeriodicLook::stop(std::chrono::milliseconds at_most) {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
  return changed_.wait_for(lock, at_most, [this] { return ended_; });
}

void PeriodicLook::look_once() {
  try {
    if (at_first_) {
      at_first_();
      at_first_ = nullptr;
    } else {
      look_();
    }
  } catch (const std::bad_alloc&) {
    log::warn("there was no memory to look after the runs; it is tried again in ten seconds");
  }
}

void PeriodicLook::run() {
  if (at_first_) look_once();
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, every_, [this] { return stopping_; })) {
    lock.unlock();
    look_once();
    lock.lock();
  }
  ended_ = true;
  changed_.notify_all();
}

}  // namespace castscope::cli
