// Processes that reach neither the run directory nor the roll, and say so (agent/lanes/outside.h). Thread-compatible.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agent/lanes/outside.h"

namespace castscope::relay {

struct Outsider {
  castscope_outside_kind kind{};
  pid_t pid = 0;  // 0 = in another pid namespace, which this one does not see
  uid_t uid = 0;
};

class Outside {
 public:
  // Returns nullptr where the system gives no socket, or somebody else listens: a job is recorded without one, too.
  // `secret`: by which a process of another user shows that it is of the job; "" = no such process is believed.
  static std::unique_ptr<Outside> listen(const std::string& run_directory, const std::string& secret);
  ~Outside();
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;

  std::vector<Outsider> take();  // those that have told since the last time

 private:
  Outside(int fd, std::string run_directory, std::string secret)
      : fd_(fd), run_directory_(std::move(run_directory)), secret_(std::move(secret)) {}
  bool is_of_the_job(uid_t sender, const castscope_outside& told) const;
  const int fd_;
  const std::string run_directory_, secret_;
};

}  // namespace castscope::relay
