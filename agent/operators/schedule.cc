#include "agent/operators/schedule.h"

#include <charconv>
#include <utility>

namespace castscope::operators {

Mode mode_of(std::string_view text) {
  if (text == "always") return {Mode::kAlways};
  if (text == "never") return {Mode::kNever};
  std::uint64_t every = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), every);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size() || every == 0) return {};
  return {Mode::kEvery, every};
}

bool Schedule::step_begins(std::uint64_t step, bool changed, std::uint64_t operators, std::uint64_t looked,
                           std::uint64_t run) {
  step_ = step;
  if (std::exchange(after_change_, false)) operators_in_changes_ += operators - operators_before_;
  switch (mode_.kind) {
    case Mode::kAlways:
      return true;
    case Mode::kNever:
      return false;
    case Mode::kEvery:
      return step % mode_.every == 0;
    case Mode::kAutomatic:
      break;
  }
  if (step < kFirstSteps) return deep_ = true;
  if (changed && !deep_) due_ = changed_ = true;  // a deep step has looked at its own new things
  if (step >= distance_) {
    due_ = true;
    while (distance_ <= step) distance_ *= 10;
  }
  deep_ = due_ && (is_in_budget(looked, run) || (changed_ && operators_in_changes_ < kOperatorsAfterChanges));
  if (!deep_) return false;
  after_change_ = changed_;
  operators_before_ = operators;
  due_ = changed_ = false;
  return deep_;
}

}  // namespace castscope::operators
