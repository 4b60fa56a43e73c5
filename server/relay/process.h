// A process that is not our child: whether it still exists, what it runs, how it ended. Another process may have the
// pid by now: the start time tells the two apart.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace castscope::relay {

// Returns false also for a zombie, which does nothing any more. start_ticks 0 = unknown: any process with that pid
// counts.
bool is_alive(std::int64_t pid, std::uint64_t start_ticks);

// Whether the process has mapped a file whose path contains `part`. exec unmaps everything, whatever it puts in place,
// even a static program without us. Returns true where the kernel does not let us look.
bool has_mapped(std::int64_t pid, std::string_view part);

// Learns how a process ended without being its parent, as far as the kernel says: while it is a zombie and, since Linux
// 6.15, also later for the holder of a pidfd.
class EndWatch {
 public:
  EndWatch(std::int64_t pid, std::uint64_t start_ticks);
  ~EndWatch();
  EndWatch(const EndWatch&) = delete;
  EndWatch& operator=(const EndWatch&) = delete;
  // The status as waitpid() would return it; nothing while the process runs, and where its status cannot be known.
  std::optional<int> wait_status();

 private:
  const std::int64_t pid_;
  const std::uint64_t start_ticks_;
  int pidfd_ = -1;
  std::optional<int> known_;
};

}  // namespace castscope::relay
