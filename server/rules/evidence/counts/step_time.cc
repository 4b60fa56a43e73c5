#include "server/rules/evidence/counts/step_time.h"

#include <algorithm>
#include <vector>

#include "server/store/run/step_numbers.h"

namespace castscope::rules {

StepTime& StepTime::operator+=(const StepTime& other) {
  steps += other.steps;
  passes += other.passes;
  ns += other.ns;
  return *this;
}

std::map<store::ProcessId, StepTime> step_times(const store::RunData& data) {
  struct Span {
    std::uint64_t steps = 0, passes = 0;
    std::int64_t begin = INT64_MAX, end = 0;
  };
  std::map<store::ProcessId, Span> spans;
  const std::vector<store::NumberedRun> numbered = store::numbered_runs(data);
  for (std::size_t i = 0; i < numbered.size(); ++i) {
    const store::StepRun& run = data.step_runs[i];
    Span& span = spans[run.process];
    span.steps += numbered[i].training;
    span.passes += run.length();
    span.begin = std::min(span.begin, run.begin_ns);
    span.end = std::max(span.end, run.end_ns);
  }
  std::map<store::ProcessId, StepTime> times;
  for (const auto& [process, span] : spans)
    if (span.passes > 1 && span.end > span.begin)
      times[process] = {span.steps, span.passes, static_cast<double>(span.end - span.begin)};
  return times;
}

store::Savings savings_over(double ns, const StepTime& time) {
  store::Savings savings;
  if (time.steps > 0) savings.ns_per_step = ns / static_cast<double>(time.steps);
  if (time.ns > 0) savings.share_of_step = std::min(1.0, ns / time.ns);
  return savings;
}

std::optional<store::Savings> saved_per_step(const store::RunData& data, double ns) {
  StepTime all;  // the steps alone, without the time between them
  const std::vector<store::NumberedRun> numbered = store::numbered_runs(data);
  for (std::size_t i = 0; i < numbered.size(); ++i) {
    const store::StepRun& run = data.step_runs[i];
    all += {numbered[i].training, run.length(), static_cast<double>(run.end_ns - run.begin_ns)};
  }
  if (all.steps == 0 || ns <= 0) return std::nullopt;
  return savings_over(ns, all);
}

std::uint64_t deep_steps(const store::RunData& data, const std::set<store::OperatorUseId>& uses) {
  std::set<store::ProcessId> processes;
  for (const store::UseCount& count : data.use_counts)
    if (uses.contains(count.use)) processes.insert(count.process);
  std::uint64_t steps = 0;
  for (const store::ProcessId process : processes) steps += data.processes[process].gauges.deep_steps;
  return steps;
}

}  // namespace castscope::rules
