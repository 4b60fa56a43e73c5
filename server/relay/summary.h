// What a relay reports about the processes that it reads, meanwhile and at the end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace castscope::relay {

enum class ProcessEnd : std::uint8_t { kRunning = 0, kExited = 1, kReplaced = 2, kVanished = 3 };

struct ProcessSummary {
  std::string key;  // "host/pid/start_ticks/n"
  std::int64_t pid = 0;
  ProcessEnd end = ProcessEnd::kRunning;
  int exit_status = -1;            // as for its parent, 128 + the signal that killed it; -1 = not known
  std::uint64_t written = 0;       // events published by the process
  std::uint64_t dropped = 0;       // events it had to drop: its rings were full
  std::uint64_t acknowledged = 0;  // events the collector has made durable for this relay
  std::string problem;             // a sentence when part of it could not be read or was not accepted
};

// How a process ended: one of the two is known.
struct KnownEnd {
  int exit_status = -1;  // -1 = not known
  int signal = 0;        // 0 = none
};
// Nothing if the process has no record, or the record does not tell.
std::optional<KnownEnd> end_of(std::int64_t pid, const std::vector<ProcessSummary>& processes);

// Something that belongs to the run and that the relay never saw.
struct Missing {
  enum class Kind : std::uint8_t { kRunDirectory, kProcess, kUnrecorded };
  Kind kind{};
  std::string process;  // its key; "" = not known, or the run as a whole
  std::string sentence;
};

struct Summary {
  std::vector<ProcessSummary> processes;
  std::vector<Missing> missing;
  bool delivered = false;  // everything read was acknowledged
  std::string problem;     // otherwise a sentence that says why not
  bool reached = false;    // the collector has answered at least once
  bool let_in = false;     // it has welcomed this relay, and may have a part of the run
  std::string spool;       // and the file that has, on disk, all that was not delivered; "" = none has
};

struct Progress {
  std::uint32_t processes = 0, running = 0;
  std::uint64_t casts = 0, hits = 0, events = 0, dropped = 0, unacknowledged_bytes = 0;
};

}  // namespace castscope::relay
