#include "server/rules/scaler/unmeasured_gradients.h"

#include <algorithm>
#include <set>

#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/scaler/scaler_facts.h"
#include "server/store/run/causes.h"

namespace castscope::rules {
namespace {

bool are_sampled(const store::RunData& data, store::ProcessId process) {
  return std::any_of(data.value_ranges.begin(), data.value_ranges.end(), [&](const store::ValueRange& range) {
    if (range.process != process || range.elements == 0) return false;
    if (range.use != 0) {
      const store::OperatorUse& use = data.operator_uses[range.use];
      return use.phase == lanes::Phase::kBackward && use.result == kHalf;
    }
    const store::Site& site = data.sites[range.site];
    return site.phase == lanes::Phase::kBackward && (site.from == kHalf || site.to == kHalf);
  });
}

bool is_by_autocast(const store::Site& site) {
  return store::is_autocasts(site.cause) || site.cause == lanes::Cause::kCompiled;
}

bool casts_weights(const store::RunData& data, store::ProcessId process) {
  return std::any_of(data.site_uses.begin(), data.site_uses.end(), [&](const store::SiteUse& use) {
    const store::Site& site = data.sites[use.site];
    return use.process == process && use.counts.casts > 0 && is_by_autocast(site) &&
           site.role == lanes::Role::kWeight && site.from == kFloat && site.to == kHalf;
  });
}

bool is_trained_half(const lanes::Operand& operand) {
  return operand.dtype == kHalf && operand.role == lanes::Role::kWeight &&
         (operand.flags & lanes::kOperandRequiresGrad) != 0;
}

bool has_half_weights(const store::RunData& data, store::ProcessId process) {
  return std::any_of(data.use_counts.begin(), data.use_counts.end(), [&](const store::UseCount& count) {
    const std::vector<lanes::Operand>& operands = data.operator_uses[count.use].operands;
    return count.process == process && std::any_of(operands.begin(), operands.end(), is_trained_half);
  });
}

// Gradients that come back through the casts to float16.
struct GradientCasts {
  std::uint64_t times = 0;
  std::set<Line> lines;  // the user's lines that called backward, as far as they are known: not on a GPU's thread
};

GradientCasts gradient_casts(const store::RunData& data, store::ProcessId process) {
  GradientCasts casts;
  for (const store::SiteUse& use : data.site_uses) {
    const store::Site& site = data.sites[use.site];
    if (use.process != process || use.counts.casts == 0 || site.phase != lanes::Phase::kBackward) continue;
    const bool gradient = site.cause == lanes::Cause::kBackward || site.role == lanes::Role::kGradient ||
                          site.cause == lanes::Cause::kCompiled;
    if (!gradient || site.from != kHalf || site.to != kFloat) continue;
    casts.times += use.counts.casts;
    if (data.user_location(site.stack)) casts.lines.insert(line_of(data, site.stack));
  }
  return casts;
}

}  // namespace

std::optional<UnmeasuredGradients> unmeasured_gradients(const store::RunData& data, store::ProcessId process,
                                                        std::uint64_t steps) {
  if (scales_gradients(data, process) || !region_dtypes(data, process).contains(kHalf)) return std::nullopt;
  UnmeasuredGradients found;
  found.steps = times_seen(data, process, of_kind(lanes::FactKind::kOptimizerStep));
  if (found.steps < steps || are_sampled(data, process)) return std::nullopt;
  const GradientCasts casts = gradient_casts(data, process);
  if (casts.times == 0 || !casts_weights(data, process) || has_half_weights(data, process)) return std::nullopt;
  found.casts = casts.times;
  const auto is_backward = [&](const store::Fact& fact) {
    if (fact.kind != lanes::FactKind::kBackward || fact.detail != 0) return false;
    return casts.lines.empty() || casts.lines.contains(line_of(data, fact.stack));
  };
  const auto may_be_scaled = [&](const store::Fact& fact) { return is_backward(fact) && !fact.text.empty(); };
  const store::Fact* first = first_seen(data, process, is_backward);
  if (first == nullptr || first_seen(data, process, may_be_scaled) != nullptr) return std::nullopt;
  found.stack = first->stack;
  found.handle = amp_handle_in(data, process);
  found.backwards = times_seen(data, process, is_backward);
  if (found.backwards < steps) return std::nullopt;
  return found;
}

}  // namespace castscope::rules
