#include "server/rules/evidence/counts/step_time.h"

#include <algorithm>
#include <vector>

#include "server/store/run/step_numbers.h"

namespace castscope::rules {
namespace {

struct Weighed {
  std::int64_t ns = 0;
  std::uint64_t steps = 0;
};

double weighted_median(std::vector<Weighed>& all) {
  std::ranges::sort(all, {}, &Weighed::ns);
  std::uint64_t whole = 0, before = 0;
  for (const Weighed& one : all) whole += one.steps;
  for (const Weighed& one : all) {
    before += one.steps;
    if (2 * before >= whole) return static_cast<double>(one.ns);
  }
  return 0;
}

class ProcessSteps {
 public:
  void add(const store::StepRun& run, const store::NumberedRun& numbered) {
    time_.steps += numbered.training;
    time_.passes += run.length();
    begin_ = std::min(begin_, run.begin_ns);
    end_ = std::max(end_, run.end_ns);
    if (numbered.training > 0) training_.push_back({run.median_ns, numbered.training});
    evaluations_ns_ += static_cast<double>(run.median_ns) * static_cast<double>(numbered.evaluations);
  }
  // Where events are missing, the steps that none of them tell of are taken to be like the others.
  StepTime time(const store::Process& process) {
    time_.ns = end_ > begin_ ? static_cast<double>(end_ - begin_) : 0;
    const std::uint64_t seen = time_.steps, made = std::max(seen, store::training_steps(process, seen));
    const double times = seen == 0 ? 1 : static_cast<double>(made) / static_cast<double>(seen);
    time_.steps = seen == 0 ? 0 : made;
    time_.typical_ns = weighted_median(training_) * static_cast<double>(time_.steps) + evaluations_ns_ * times;
    return time_;
  }

 private:
  StepTime time_;
  std::int64_t begin_ = INT64_MAX, end_ = 0;
  std::vector<Weighed> training_;
  double evaluations_ns_ = 0;
};

std::map<store::ProcessId, StepTime> all_times(const store::RunData& data) {
  const std::vector<store::NumberedRun> numbered = store::numbered_runs(data);
  std::map<store::ProcessId, ProcessSteps> processes;
  for (std::size_t i = 0; i < numbered.size(); ++i)
    processes[data.step_runs[i].process].add(data.step_runs[i], numbered[i]);
  std::map<store::ProcessId, StepTime> times;
  for (auto& [process, steps] : processes) times[process] = steps.time(data.processes[process]);
  return times;
}

}  // namespace

StepTime& StepTime::operator+=(const StepTime& other) {
  steps += other.steps;
  passes += other.passes;
  ns += other.ns;
  typical_ns += other.typical_ns;
  return *this;
}

std::map<store::ProcessId, StepTime> step_times(const store::RunData& data) {
  std::map<store::ProcessId, StepTime> times = all_times(data);
  std::erase_if(times, [](const auto& of) { return of.second.passes < 2 || of.second.ns <= 0; });
  return times;
}

StepTime step_time(const store::RunData& data) {
  StepTime all;
  for (const auto& [process, time] : all_times(data)) all += time;
  return all;
}

store::Savings savings_over(double ns, const StepTime& time) {
  store::Savings savings;
  if (time.steps > 0) savings.ns_per_step = ns / static_cast<double>(time.steps);
  if (time.typical_ns > 0) savings.share_of_step = std::min(1.0, ns / time.typical_ns);
  return savings;
}

std::optional<store::Savings> saved_per_step(const store::RunData& data, double ns) {
  const StepTime time = step_time(data);
  if (time.steps == 0 || ns <= 0) return std::nullopt;
  return savings_over(ns, time);
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
