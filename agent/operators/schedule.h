// Decides which steps are deep: docs/decisions/deep-steps.md. Knows nothing of PyTorch, and asks no clock.
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
Mode mode_of(std::string_view text);  // kAutomatic for any other text
bool is_mode(std::string_view text);

inline constexpr std::uint64_t kFirstSteps = 3;
// Limits for the code that follows the optimizer's step: a handful of operators, or a whole evaluation, whose first
// batches suffice. So many operators are looked at whatever the budget says (some 60 ms once), later ones as it allows.
inline constexpr std::uint64_t kOperatorsInTail = 2'000, kOperatorsInFirstTails = 20'000;
// Code that is met for the first time is looked at, however late: so many operators in all whatever the budget says,
// and so many more for each place in the code at which an operator was found. So a job of a few large layers, each of
// which runs once, is looked at whole, and one that runs the same code again pays once. All that is free may take half
// a second together, about 60,000 places.
inline constexpr std::uint64_t kOperatorsFree = 20'000, kOperatorsPerPlace = 30, kMostFreeNs = 500'000'000;
// Looking ends after so many operators of which none came from a place that was not known: what is new has been seen. A
// job without steps would otherwise be deep for ever.
inline constexpr std::uint64_t kQuietOperators = 2'000;
// 0.2 % of the run: a fifth of the 1 % that the bench allows for a whole step.
inline constexpr std::uint64_t kBudgetDivisor = 500;
// When the free operators are used up, looking at new code may take 3 % of the run. In a job that brings new code in
// every step, castscope looks as often as that allows, and counts how often it left new code out.
inline constexpr std::uint64_t kNewCodeDivisor = 33;
// Only the time in our callbacks is measured. PyTorch boxes arguments and results for them, which takes about twice as
// long again (the bench's tiny transformer, one deep step compared with another: 0.7 ms, of which 0.25 ms are ours).
inline constexpr std::uint64_t kTimesMeasured = 3;

// How much castscope has looked at since the recording began, and how long that took.
struct Spent {
  std::uint64_t operators = 0;              // looked at
  std::uint64_t places = 0;                 // places in the code at which they were found
  std::uint64_t looked_ns = 0, run_ns = 0;  // time spent looking, and time in all
};

class Schedule {
 public:
  explicit Schedule(Mode mode) : mode_(mode) {}

  // Step `step` begins: returns whether it is deep. `changed`: something new was met since the step before began.
  bool step_begins(std::uint64_t step, bool changed, const Spent& spent);
  // Whether to look at the operators after the optimizer's step, up to the next region, of a step that is not deep.
  // `in_tails`: operators looked at in earlier tails.
  bool tail_begins(std::uint64_t in_tails, const Spent& spent) const {
    return mode_.kind == Mode::kAutomatic && (in_tails < kOperatorsInFirstTails || is_in_budget(spent));
  }
  // Code that was never looked at is about to run, and nothing is looked at: whether to look from here on.
  bool new_code_begins(const Spent& spent);
  // Returns whether castscope goes on looking after new code made it begin within a step. `quiet`: how many operators
  // it has looked at since it last found a new place.
  bool new_code_goes_on(std::uint64_t quiet, const Spent& spent) const {
    return quiet < kQuietOperators && affords_new_code(spent);
  }
  // Whether a deep step goes on after so many operators since it began. It does to its end, but a job without steps has
  // only one.
  bool goes_on(std::uint64_t operators, std::uint64_t quiet, const Spent& spent) const {
    return mode_.kind != Mode::kAutomatic || step_ > 0 || operators < kOperatorsFree || new_code_goes_on(quiet, spent);
  }
  // How often new code was not looked at because of the budget.
  std::uint64_t refused() const { return refused_; }

 private:
  static bool is_in_budget(const Spent& spent) {
    return spent.looked_ns * kTimesMeasured <= spent.run_ns / kBudgetDivisor;
  }
  static bool affords_new_code(const Spent& spent) {
    const bool free =
        spent.operators < kOperatorsFree + kOperatorsPerPlace * spent.places && spent.looked_ns < kMostFreeNs;
    return free || spent.looked_ns * kTimesMeasured <= spent.run_ns / kNewCodeDivisor;
  }

  Mode mode_;
  std::uint64_t step_ = 0;
  std::uint64_t distance_ = 10;  // when the next step is deep by distance
  bool deep_ = false;
  bool due_ = false;      // a deep step is due; stays set until the budget allows it
  bool changed_ = false;  // it is due because of something new
  std::uint64_t refused_ = 0;
};

}  // namespace castscope::operators
