// Tells training steps from evaluations, and numbers each apart. In the file and in events both are counted together,
// in their order.
//
// Where a process has training steps, an evaluation is what had no backward pass, no optimizer and no castscope.step().
// Where it has none (inference), everything counts as a step.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "server/store/run/run_data.h"

namespace castscope::store {

enum class StepKind : std::uint8_t { kTraining, kEvaluation, kMixed };  // kMixed: a row of both

// A row of RunData::step_runs.
struct NumberedRun {
  StepKind kind = StepKind::kTraining;
  std::uint32_t first_number =
      0;  // of those of its kind in the process, from 0; of a mixed row: the first training step
  std::uint64_t training = 0, evaluations = 0;  // how many steps of the row are which
};

// One for each of RunData::step_runs, in its order.
std::vector<NumberedRun> numbered_runs(const RunData&);

// How many training steps a process had made before a step, as far as rows tell. For a training step it is its number.
class TrainingSteps {
 public:
  explicit TrainingSteps(const RunData&);
  std::uint64_t before(ProcessId, std::uint32_t step) const;

 private:
  struct Row {
    std::uint32_t first = 0, length = 0;
    std::uint64_t before = 0, training = 0;
  };
  Table<std::vector<Row>, Process> rows_;
};

// "training", "evaluation", "mixed"
std::string_view name(StepKind);

// How many training steps the process made: `seen` of them by its events, or its own count where some of its events are
// missing, or it still runs.
std::uint64_t training_steps(const Process&, std::uint64_t seen);

// How many steps and evaluations a process made.
struct StepCounts {
  std::uint64_t training = 0, evaluations = 0;
};
// Returns the counts of the process that made the most training steps. They are not added up over processes, since
// ranks that train together take each step together.
StepCounts step_counts(const RunData&);

}  // namespace castscope::store
