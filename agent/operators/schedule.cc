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

bool is_mode(std::string_view text) { return mode_of(text).kind != Mode::kAutomatic; }

bool Schedule::step_begins(std::uint64_t step, bool changed, const Spent& spent) {
  step_ = step;
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
  const bool is_new = changed && !deep_;  // a deep step has looked at its own new things
  if (is_new) due_ = changed_ = true;
  if (step >= distance_) {
    due_ = true;
    while (distance_ <= step) distance_ *= 10;
  }
  deep_ = due_ && (is_in_budget(spent) || (changed_ && affords_new_code(spent)));
  if (deep_) due_ = changed_ = false;
  if (is_new && !deep_) ++refused_;
  return deep_;
}

bool Schedule::new_code_begins(const Spent& spent) {
  if (mode_.kind != Mode::kAutomatic) return false;
  if (affords_new_code(spent)) return true;
  ++refused_;
  return false;
}

}  // namespace castscope::operators
