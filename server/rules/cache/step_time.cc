#include "server/rules/cache/step_time.h"

#include <algorithm>

namespace castscope::rules {

std::map<std::uint32_t, StepTime> step_times(const store::RunData& data) {
  struct Span {
    std::uint64_t steps = 0;
    std::int64_t begin = INT64_MAX, end = 0;
  };
  std::map<std::uint32_t, Span> spans;
  for (const store::StepRun& run : data.step_runs) {
    Span& span = spans[run.process];
    span.steps += std::uint64_t{run.last} - run.first + 1;
    span.begin = std::min(span.begin, run.begin_ns);
    span.end = std::max(span.end, run.end_ns);
  }
  std::map<std::uint32_t, StepTime> times;
  for (const auto& [process, span] : spans)
    if (span.steps > 1 && span.end > span.begin)
      times[process] = {span.steps, static_cast<double>(span.end - span.begin)};
  return times;
}

}  // namespace castscope::rules
