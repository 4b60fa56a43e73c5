// A stand-in for a traced process, for measuring what comes after it: a segment with definitions, counters and the
// events of a training loop, written as fast as the reader makes room. It never drops.
#pragma once

#include <cstdint>
#include <string>

namespace castscope::bench {

// Runs in the calling process, which is the traced one as far as the segment tells. Returns its exit status.
int run_synthetic_job(const std::string& run_directory, std::uint64_t events);

}  // namespace castscope::bench
