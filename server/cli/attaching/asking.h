// Asks processes of a run to be watched, let go or looked at, and waits until it has happened.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/cli/attaching/control_page.h"
#include "server/cli/attaching/find_run.h"

namespace castscope::cli {

struct Asked {
  std::vector<ControlState> states;  // as they were last; empty = the run has no process with PyTorch (yet)
  bool done = false;                 // it has happened in each of them
};

struct Question {
  std::string verb = {};     // of control_socket.h
  std::string at_once = {};  // … after `patience` without success; "" = never
  std::string argument = {};
  std::function<bool(const ControlState&)> is_done;
  std::chrono::milliseconds patience{1000};
};

// FailedPrecondition: the run refuses; NotFound: nobody records it; DeadlineExceeded: who records it does not answer;
// Aborted: the process, or the run, has ended meanwhile.
absl::StatusOr<Asked> ask_and_wait(const Target& target, const Question& question, std::chrono::milliseconds at_most);

}  // namespace castscope::cli
