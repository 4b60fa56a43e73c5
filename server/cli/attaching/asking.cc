#include "server/cli/attaching/asking.h"

#include <algorithm>
#include <thread>

#include "absl/strings/str_cat.h"
#include "server/cli/attaching/control_socket.h"

namespace castscope::cli {

absl::StatusOr<Asked> ask_and_wait(const Target& target, const Question& question, std::chrono::milliseconds at_most) {
  using Clock = std::chrono::steady_clock;
  const std::string& directory = target.directory.path();
  const std::string argument = question.argument.empty() ? "" : absl::StrCat(" ", question.argument);
  const Clock::time_point begin = Clock::now();
  bool insisted = question.at_once.empty();
  auto states = ask_run(directory, absl::StrCat(question.verb, " ", target.pid, argument));
  for (;;) {
    if (!states.ok()) return states.status();
    if (!states->empty() && std::ranges::all_of(*states, question.is_done)) return Asked{*states, true};
    const auto waited = Clock::now() - begin;
    if (waited >= at_most) return Asked{*states, false};
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // the process has its own pace, and tells nobody
    if (!insisted && waited >= question.patience) {
      insisted = true;
      states = ask_run(directory, absl::StrCat(question.at_once, " ", target.pid, argument));
    } else {
      states = ask_run(directory, absl::StrCat("status ", target.pid));
    }
  }
}

}  // namespace castscope::cli
