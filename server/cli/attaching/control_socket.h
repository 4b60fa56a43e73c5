// The socket of a run, `<run directory>/control`: whoever records the run answers there, and writes what is asked for
// into the control pages of the run's processes. Only the user whose run it is may ask; the kernel says who asks.
//
// A request is one line, the answer one line for each process that it is about (control_page.h), or `error SENTENCE`:
//
//   status PID      attach PID      attach-at-once PID      detach PID      detach-at-once PID      deep PID STEPS
//
// PID 0 means all processes of the run. Nobody waits in here: who wants to know when it has happened asks again.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "server/cli/attaching/control_page.h"

namespace castscope::cli {

class ControlServer {
 public:
  // Fails where the run directory takes no socket; the run goes on without one.
  static absl::StatusOr<std::unique_ptr<ControlServer>> start(const std::string& directory);
  ~ControlServer();  // removes the socket
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;
  // Returns true once somebody's `castscope attach` was passed on to a process of the run.
  bool was_asked_to_attach() const { return was_asked_to_attach_; }

 private:
  ControlServer(std::string directory, int listening, int wake);
  void serve();
  void answer(int connection);
  const std::string directory_;
  const int listening_, wake_;
  std::atomic<bool> was_asked_to_attach_ = false;
  std::thread thread_;
};

// What is wrong with a peer of that user; "" = nothing.
std::string refusal_of(uid_t peer, uid_t own);
// What the server answers to one request.
std::string answer_to(const std::string& directory, const std::string& request);

// Asks at the socket of this run directory. NotFound: there is none, or nobody listens any more; DeadlineExceeded: who
// listens has not answered so far; FailedPrecondition: the answer is an error.
absl::StatusOr<std::vector<ControlState>> ask_run(const std::string& directory, const std::string& request);

// Returns true if the run has a socket. The recording castscope removes it at its end; one that was killed leaves it.
bool takes_requests(const std::string& directory);

}  // namespace castscope::cli
