// A stand-in for a traced process, for measuring what comes after it: a segment with definitions, counters and the
// events of a training loop. It never drops.
#pragma once

#include <cstdint>
#include <string>

namespace castscope::bench {

struct SyntheticJob {
  std::uint64_t events = 0;  // written as fast as the reader makes room
  std::uint32_t lanes = 1;
  std::uint32_t streams = 0;  // so many of the lanes report what a stream of a GPU did
  bool as_written = false;    // times are those of writing, not those of the simulated loop
  // After that, so many events a second are written, for so long.
  std::uint64_t per_second = 0;
  double seconds = 0;
};

// Runs in the calling process, which is the traced process according to the segment. Returns its exit status.
int run_synthetic_job(const std::string& run_directory, const SyntheticJob& job);

}  // namespace castscope::bench
