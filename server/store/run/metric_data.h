// Numbers that a process has for its steps: those that the job told by castscope.metric, and the scale of gradients.
// Part of RunData (run_data.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/store/run/ids.h"

namespace castscope::store {

enum class MetricSource : std::uint8_t { kJob = 0, kGradScaler = 1 };
// "castscope.metric", "GradScaler"
constexpr const char* name(MetricSource source) {
  return source == MetricSource::kJob ? "castscope.metric" : "GradScaler";
}
// The name of the metric that GradScaler's updates tell: the scale that the step's loss was multiplied by.
inline constexpr char kScaleName[] = "gradient scale";

struct MetricValue {
  std::uint32_t step = 0;  // as events have it (step_numbers.h)
  double value = 0;        // may be infinite, or NaN
};

struct Metric {
  ProcessId process = {};
  std::uint32_t number = 0;  // 1, 2, … in the process
  std::string name;
  MetricSource source{};
  // These count and compare each value that arrived, also those that a later one of the same step replaced in `kept`.
  std::uint64_t values = 0, not_finite = 0;
  std::uint32_t first_step = 0, first_not_finite_step = 0;  // the latter where not_finite > 0
  double first = 0, last = 0;
  double least = 0, most = 0;     // of the finite ones; 0 where there is none
  std::uint32_t kept_every = 1;   // from the first step on, one of so many steps has its value below
  std::vector<MetricValue> kept;  // the last one of a step; in order of the steps
};

}  // namespace castscope::store
