#include "server/cli/attaching/asking.h"

#include <algorithm>
#include <cstdint>
#include <thread>

#include "absl/strings/str_cat.h"
#include "server/cli/attaching/control_socket.h"
#include "server/cli/job/proc.h"

namespace castscope::cli {

namespace {

using Clock = std::chrono::steady_clock;

// Remembers which process, or which run, a request is for, so that a command that waits notices when it has ended.
class Life {
 public:
  explicit Life(const Target& target)
      : target_(target),
        ticks_(target.pid != 0 ? start_ticks(target.pid) : 0),
        was_recorded_(takes_requests(target.directory.path())) {}

  // Aborted if it has ended since; otherwise what the run answered.
  absl::Status explain(const absl::Status& answer) const {
    if (target_.pid != 0 && !(ticks_ != 0 && is_alive(target_.pid, ticks_)))
      return absl::AbortedError(absl::StrCat("process ", target_.pid, " has ended meanwhile"));
    if (target_.pid == 0 && was_recorded_ && !takes_requests(target_.directory.path()))
      return absl::AbortedError("the job has ended meanwhile");
    return answer;
  }

 private:
  const Target& target_;
  const std::uint64_t ticks_;
  const bool was_recorded_;
};

std::string request(const std::string& verb, const Target& target, const std::string& argument) {
  return absl::StrCat(verb, " ", target.pid, argument.empty() ? "" : " ", argument);
}

}  // namespace

absl::StatusOr<Asked> ask_and_wait(const Target& target, const Question& question, std::chrono::milliseconds at_most) {
  const std::string& directory = target.directory.path();
  const Life life(target);
  const Clock::time_point begin = Clock::now();
  bool insisted = question.at_once.empty();
  auto states = ask_run(directory, request(question.verb, target, question.argument));
  for (;;) {
    const auto waited = Clock::now() - begin;
    // castscope may only be slow; the request has reached it, and is not made a second time.
    if (!states.ok() && !(absl::IsDeadlineExceeded(states.status()) && waited < at_most))
      return life.explain(states.status());
    if (states.ok()) {
      if (!states->empty() && std::ranges::all_of(*states, question.is_done)) return Asked{*states, true};
      if (waited >= at_most) return Asked{*states, false};
      std::this_thread::sleep_for(std::chrono::milliseconds(10));  // the process has its own pace, and tells nobody
    }
    if (!insisted && waited >= question.patience) {
      insisted = true;
      states = ask_run(directory, request(question.at_once, target, question.argument));
    } else {
      states = ask_run(directory, request("status", target, ""));
    }
  }
}

}  // namespace castscope::cli
