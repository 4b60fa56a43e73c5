// Decides which steps are deep: docs/decisions/deep-steps.md. Knows nothing of PyTorch, and keeps no time of its own.
#pragma once

#include <cstdint>
#include <string_view>

namespace castscope::operators {

struct Mode {
  enum Kind : std::uint8_t { kAutomatic, kAlways, kNever, kEvery };
  Kind kind = kAutomatic;
  std::uint64_t every = 0;  // for kEvery: each step whose number this divides is deep
};
// CASTSCOPE_DEEP: "always", "never", a number. Anything else is automatic: castscope itself refuses it where it is set.
Mode mode_of(std::string_view text);

inline constexpr std::uint64_t kFirstSteps = 3;
// Limits for the code that follows the optimizer's step: a handful of operators, or a whole evaluation, whose first
// batches suffice. So many operators are looked at whatever the budget says (some 60 ms once), later ones as it allows.
inline constexpr std::uint64_t kOperatorsInTail = 2'000, kOperatorsInFirstTails = 20'000;
// The limit for steps after something new was met (the model is scripted after a while, an evaluation begins): so many
// operators are looked at whatever the budget says, later ones as it allows.
inline constexpr std::uint64_t kOperatorsAfterChanges = 20'000;
// The limit for a job without steps, which would otherwise be deep for ever: about what a few steps of a large model
// call.
inline constexpr std::uint64_t kOperatorsWithoutSteps = 20'000;
// 0.2 % of the run: a fifth of the 1 % that the bench allows for a whole step.
inline constexpr std::uint64_t kBudgetDivisor = 500;
// Only the time in our callbacks is measured. PyTorch boxes arguments and results for them, which takes about twice as
// long again (the bench's tiny transformer, one deep step compared with another: 0.7 ms, of which 0.25 ms are ours).
inline constexpr std::uint64_t kTimesMeasured = 3;

class Schedule {
 public:
  explicit Schedule(Mode mode) : mode_(mode) {}

  // Step `step` begins: returns whether it is deep. `changed`: something new was met since the step before began.
  // `operators`: looked at so far. `looked` and `run`: time spent looking so far, and time since the recording began,
  // in any one unit.
  bool step_begins(std::uint64_t step, bool changed, std::uint64_t operators, std::uint64_t looked, std::uint64_t run);
  // Whether to look at the operators after the optimizer's step, up to the next region, of a step that is not deep.
  // `in_tails`: operators looked at in earlier tails.
  bool tail_begins(std::uint64_t in_tails, std::uint64_t looked, std::uint64_t run) const {
    return mode_.kind == Mode::kAutomatic && (in_tails < kOperatorsInFirstTails || is_in_budget(looked, run));
  }
  // Whether a deep step goes on after so many operators since it began.
  bool goes_on(std::uint64_t operators) const {
    return mode_.kind != Mode::kAutomatic || step_ > 0 || operators < kOperatorsWithoutSteps;
  }

 private:
  static bool is_in_budget(std::uint64_t looked, std::uint64_t run) {
    return looked * kTimesMeasured <= run / kBudgetDivisor;
  }

  Mode mode_;
  std::uint64_t step_ = 0;
  std::uint64_t distance_ = 10;  // when the next step is deep by distance
  bool deep_ = false;
  bool due_ = false;                        // a deep step is due; stays set until the budget allows it
  bool changed_ = false;                    // it is due because of something new
  bool after_change_ = false;               // the present step is deep because of something new
  std::uint64_t operators_before_ = 0;      // looked at before it began
  std::uint64_t operators_in_changes_ = 0;  // looked at in earlier steps of that kind
};

}  // namespace castscope::operators
