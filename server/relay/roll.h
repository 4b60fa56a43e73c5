// The roll of a run (agent/lanes/roll.h), as the one who records the run sees it: makes it, and reads what the job's
// processes call. Thread-safe.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agent/lanes/roll.h"

namespace castscope::relay {

struct Call {
  enum class Kind : std::uint8_t { kSegment, kUnrecorded };
  Kind kind{};
  pid_t pid = 0;
  std::uint32_t segment = 0;
  std::uint64_t start_ticks = 0;  // 0 = not known
};

class Roll {
 public:
  // Returns nullptr where the system gives no memory for it; a job is recorded without one, too.
  static std::unique_ptr<Roll> make();
  // The one that the processes of a bare run have made as a file. Returns nullptr where there is none.
  static std::unique_ptr<Roll> of_bare_run(const std::string& run_directory);
  ~Roll();
  Roll(const Roll&) = delete;
  Roll& operator=(const Roll&) = delete;

  // The variable NAME=VALUE by which processes of the job find it.
  std::string variable(const std::string& run_directory) const;
  // Returns the calls since the last time. One thread at a time may take them.
  std::vector<Call> take();
  bool has_torch() const;                      // a process has loaded PyTorch
  std::uint32_t lost() const;                  // calls that found no room
  std::vector<std::string> sentences() const;  // what processes could not leave as files; "" for one without room
  void run_is_over();                          // nobody reads what comes now

 private:
  Roll(int fd, castscope_roll* memory, std::uint64_t device, std::uint64_t inode)
      : fd_(fd), memory_(memory), device_(device), inode_(inode) {}
  bool is_whole() const;  // a file may be shortened: touching it then would be a SIGBUS
  const int fd_;
  castscope_roll* const memory_;
  const std::uint64_t device_, inode_;
};

}  // namespace castscope::relay
