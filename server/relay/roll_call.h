// What a relay has to miss: segments that processes called on the roll and that it never found, processes that called
// that they are not recorded, processes that told that they do not reach the run, the run directory itself. Only the
// drain thread uses it.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/relay/made_directory.h"
#include "server/relay/outside.h"
#include "server/relay/roll.h"
#include "server/relay/summary.h"

namespace castscope::relay {

class RollCall {
 public:
  using Clock = MadeDirectory::Clock;
  // Either may be empty. Both are called from look() and end().
  struct Listeners {
    std::function<void(const std::string&)> say;  // hears at once that the directory is gone, or a process outside
    std::function<void(const std::vector<std::string>&)> keep_missing;  // relay::Options
  };
  // `roll` may be null: then only the directory is looked at. `secret`: of the job (agent/lanes/outside.h).
  RollCall(std::string directory, std::shared_ptr<MadeDirectory> made, std::shared_ptr<Roll> roll, std::string host,
           const std::string& secret, Clock::duration directory_interval, Listeners listeners);

  void look(Clock::time_point now);
  // The relay has found this segment, "<pid>-<n>.lanes", and tells what becomes of it.
  void found(const std::string& segment) { ++found_[segment]; }
  // Looks for the last time, after the relay has looked for segments for the last time; returns all that is missing.
  std::vector<Missing> end();

 private:
  struct Called {
    int times = 0;  // a later process may have the same pid, and its segment the same name
    std::string process;
    pid_t pid = 0;
  };
  void take_calls();
  void take_outsiders();
  void look_at_directory(bool there);
  std::vector<Missing> unrecorded() const;
  void keep_and_say();

  const std::string directory_, host_;
  const std::shared_ptr<MadeDirectory> made_;
  const std::shared_ptr<Roll> roll_;
  const Clock::duration directory_interval_;
  const Listeners listeners_;
  std::map<std::string, Called> called_;  // by the segment's name
  std::map<std::string, int> found_;
  std::vector<std::pair<pid_t, std::string>> unrecorded_;  // pid, key
  // Who told the same is named by one sentence: a job may have very many such processes.
  std::map<std::pair<castscope_outside_kind, uid_t>, std::set<pid_t>> outsiders_;
  std::vector<std::string> to_say_;
  const std::unique_ptr<Outside> outside_;  // null: nobody can be heard
  bool gone_ = false, is_kept_ = true;      // whether keep_missing has got all that is unrecorded
};

}  // namespace castscope::relay
