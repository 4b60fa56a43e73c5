// The signals of `castscope serve`: what ends it, and how soon.
#pragma once

#include <signal.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

namespace castscope::cli {

class ServeSignals {
 public:
  enum class Came { kNothing, kReread, kStop };

  // SIGHUP waits for listen() from here on: it must not end a collector that is being started, which cannot take it
  // yet.
  static void hold_hangup();

  // To be made before any thread starts, so that all threads leave these signals to listen(). A SIGHUP that is ignored
  // by then (nohup) stays so.
  ServeSignals();

  // Starts the thread that takes the signals. SIGINT and SIGTERM stop the collector: `on_stop` is called, and after
  // `at_most`, or with a second signal, the process ends whatever it is at.
  void listen(std::chrono::milliseconds at_most, std::function<void()> on_stop);
  // Waits for a signal to stop, or for SIGHUP, for at most this time.
  Came wait(std::chrono::seconds) const;

 private:
  // The thread outlives its owner.
  struct Shared {
    sigset_t awaited;
    std::mutex mutex;
    std::condition_variable changed;
    bool stopping = false, reread = false;
  };
  static void take_signals(Shared& shared, std::chrono::milliseconds at_most, const std::function<void()>& on_stop);
  static bool wait_for_stop(Shared& shared, std::chrono::steady_clock::time_point end);

  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

}  // namespace castscope::cli
