#include "server/store/run/step_numbers.h"

#include <algorithm>

namespace castscope::store {
namespace {

Table<std::uint8_t, Process> which_train(const RunData& data) {
  Table<std::uint8_t, Process> trains(data.processes.size());
  for (const StepRun& run : data.step_runs) trains[run.process] |= run.training_steps > 0 ? 1 : 0;
  return trains;
}

}  // namespace

std::vector<NumberedRun> numbered_runs(const RunData& data) {
  std::vector<NumberedRun> all;
  const Table<std::uint8_t, Process> trains = which_train(data);
  Table<std::uint32_t, Process> evaluations(data.processes.size());  // so far
  all.reserve(data.step_runs.size());
  for (const StepRun& run : data.step_runs) {
    const std::uint32_t training = trains[run.process] == 0 ? run.length() : run.training_steps;
    std::uint32_t& before = evaluations[run.process];
    NumberedRun& numbered = all.emplace_back();
    numbered.training = training;
    numbered.evaluations = run.length() - training;
    numbered.kind = numbered.evaluations == 0 ? StepKind::kTraining
                    : training == 0           ? StepKind::kEvaluation
                                              : StepKind::kMixed;
    // What no row tells of was dropped; most of it will have been training.
    numbered.first_number = training == 0 ? before : run.first - std::min(before, run.first);
    before += run.length() - training;
  }
  return all;
}

TrainingSteps::TrainingSteps(const RunData& data) : rows_(data.processes.size()) {
  const std::vector<NumberedRun> numbers = numbered_runs(data);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const StepRun& run = data.step_runs[i];
    const NumberedRun& row = numbers[i];
    const std::uint64_t before = row.training == 0 ? run.first - row.first_number : row.first_number;
    rows_[run.process].push_back({run.first, run.length(), before, row.training});
  }
}

std::uint64_t TrainingSteps::before(ProcessId process, std::uint32_t step) const {
  const std::vector<Row>& rows = rows_[process];
  const auto after = std::ranges::upper_bound(rows, step, {}, &Row::first);
  if (after == rows.begin()) return 0;
  const Row& row = *std::prev(after);
  // A row of both kinds does not tell which of its steps were evaluations: they are taken to lie evenly among the
  // others.
  return row.before + std::min<std::uint64_t>(step - row.first, row.length) * row.training / row.length;
}

std::string_view name(StepKind kind) {
  switch (kind) {
    case StepKind::kTraining:
      return "training";
    case StepKind::kEvaluation:
      return "evaluation";
    case StepKind::kMixed:
      break;
  }
  return "mixed";
}

std::uint64_t training_steps(const Process& process, std::uint64_t seen) {
  const bool all_events = std::ranges::all_of(
      process.lanes, [](const LaneRow& lane) { return lane.dropped == 0 && lane.received >= lane.written; });
  if (process.ended && all_events) return seen;
  return process.gauges.training_steps > 0 ? process.gauges.training_steps : process.gauges.present_step + 1;
}

StepCounts step_counts(const RunData& data) {
  struct Seen {
    StepCounts counts;
    std::uint64_t missing = 0;  // between rows
    std::uint64_t next = 0;     // the number after the last row
    bool any = false;
  };
  const std::vector<NumberedRun> numbers = numbered_runs(data);
  Table<Seen, Process> seen(data.processes.size());
  for (std::size_t i = 0; i < data.step_runs.size(); ++i) {
    const StepRun& run = data.step_runs[i];
    Seen& of = seen[run.process];
    if (of.any && run.first > of.next) of.missing += run.first - of.next;
    of.any = true;
    of.next = std::max(of.next, std::uint64_t{run.last} + 1);
    of.counts.training += numbers[i].training;
    of.counts.evaluations += numbers[i].evaluations;
  }
  StepCounts most;
  for (const Process& process : data.processes) {
    StepCounts counts = seen[process.id].counts;
    counts.training = training_steps(process, counts.training + seen[process.id].missing);
    if (counts.training > most.training) most = counts;
  }
  return most;
}

}  // namespace castscope::store
