// A job for measuring the viewer: `castscope run --live -- bench_watched_job EVENTS LANES PER_SECOND SECONDS` writes
// EVENTS at once, and then so many a second. If there are many lanes, four of them are streams of a GPU. It has no
// PyTorch: it is the traced process itself.
#include <cstdio>
#include <cstdlib>

#include "tests/bench/synthetic_job.h"

namespace {
constexpr std::uint32_t kStreams = 4;
}

int main(int argc, char** argv) {
  const char* const directory = std::getenv("CASTSCOPE_RUN");
  if (argc != 5 || directory == nullptr) {
    std::fputs("usage, under castscope run: bench_watched_job EVENTS LANES PER_SECOND SECONDS\n", stderr);
    return 2;
  }
  const auto lanes = static_cast<std::uint32_t>(std::strtoul(argv[2], nullptr, 10));
  return castscope::bench::run_synthetic_job(directory, {.events = std::strtoull(argv[1], nullptr, 10),
                                                         .lanes = lanes,
                                                         .streams = lanes > kStreams ? kStreams : 0,
                                                         .as_written = true,
                                                         .per_second = std::strtoull(argv[3], nullptr, 10),
                                                         .seconds = std::strtod(argv[4], nullptr)});
}
