// A collector in a process of its own, which a test kills and starts again. It is the test's own program, called with
// `--collector ADDRESS FILE FD`: it keeps its run in FILE (journal_sink.h), and writes the address that it got to FD.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "tests/integration/journal_sink.h"

namespace castscope {

class CollectorProcess {
 public:
  explicit CollectorProcess(std::string journal) : journal_(std::move(journal)) { start(); }
  ~CollectorProcess() { kill_it(); }
  void start() {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const std::string fd = std::to_string(ends[1]);
    pid_ = fork();
    if (pid_ == 0) {
      execl("/proc/self/exe", "wire_test", "--collector", address_.c_str(), journal_.c_str(), fd.c_str(), nullptr);
      _exit(127);
    }
    close(ends[1]);
    char text[64] = {};
    ASSERT_GT(read(ends[0], text, sizeof text - 1), 0) << "the collector could not listen on " << address_;
    close(ends[0]);
    address_ = text;
  }
  void kill_it() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  const std::string& address() const { return address_; }
  JournalSink::State state() const { return JournalSink::read(journal_); }

 private:
  const std::string journal_;
  std::string address_ = "127.0.0.1:0";
  pid_t pid_ = 0;
};

}  // namespace castscope
