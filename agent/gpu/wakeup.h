// Wakes one thread. std::condition_variable would do, but asks for a newer libstdc++ (GLIBCXX_3.4.30) and a newer glibc
// (2.30) than PyTorch itself.
#pragma once

#include <pthread.h>

#include <chrono>
#include <ctime>

namespace castscope::gpu {

// Thread-safe. A call of wake() that comes before the wait is not lost.
class Wakeup {
 public:
  Wakeup() {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&condition_, &attributes);
    pthread_condattr_destroy(&attributes);
  }
  Wakeup(const Wakeup&) = delete;
  Wakeup& operator=(const Wakeup&) = delete;

  void wake() {
    pthread_mutex_lock(&mutex_);
    woken_ = true;
    pthread_cond_signal(&condition_);
    pthread_mutex_unlock(&mutex_);
  }

  void wait() {
    pthread_mutex_lock(&mutex_);
    while (!woken_) pthread_cond_wait(&condition_, &mutex_);
    woken_ = false;
    pthread_mutex_unlock(&mutex_);
  }

  void wait_at_most(std::chrono::milliseconds time) {
    timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    const long long ns = end.tv_nsec + std::chrono::nanoseconds(time).count();
    constexpr long long kSecond = 1'000'000'000;
    end.tv_sec += static_cast<time_t>(ns / kSecond);
    end.tv_nsec = static_cast<long>(ns % kSecond);
    pthread_mutex_lock(&mutex_);
    while (!woken_ && pthread_cond_timedwait(&condition_, &mutex_, &end) == 0) {
    }
    woken_ = false;
    pthread_mutex_unlock(&mutex_);
  }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition_;
  bool woken_ = false;
};

}  // namespace castscope::gpu
