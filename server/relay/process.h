// A process that is not our child: whether it is still there, what it runs, how it ended. A pid alone may belong to
// another process by now: the time it was started tells.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace castscope::relay {

// False also for a zombie: it does nothing any more. start_ticks 0 = not known, any process of that pid will do.
bool is_alive(std::int64_t pid, std::uint64_t start_ticks);

// Whether the process has a file mapped whose path has `part` in it. exec unmaps everything, whatever it puts in place:
// another program without us, a static one too. True where the kernel does not let us look.
bool has_mapped(std::int64_t pid, std::string_view part);

// Learns how a process ended without being its parent, as far as the kernel tells: while it is a zombie, and since
// Linux 6.15 afterwards too, to whom held a pidfd of it.
class EndWatch {
 public:
  EndWatch(std::int64_t pid, std::uint64_t start_ticks);
  ~EndWatch();
  EndWatch(const EndWatch&) = delete;
  EndWatch& operator=(const EndWatch&) = delete;
  // As waitpid() would tell it; nothing while it runs, and where it cannot be known.
  std::optional<int> wait_status();

 private:
  const std::int64_t pid_;
  const std::uint64_t start_ticks_;
  int pidfd_ = -1;
  std::optional<int> known_;
};

}  // namespace castscope::relay
