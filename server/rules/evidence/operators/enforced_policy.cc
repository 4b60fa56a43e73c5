#include "server/rules/evidence/operators/enforced_policy.h"

#include <algorithm>

#include "server/rules/evidence/counts/step_time.h"
#include "server/rules/evidence/operators/dtypes.h"

namespace castscope::rules {
namespace {

constexpr double kWorthSaying = 0.02;

std::string first_attribute(const store::RunData& data, std::string_view name) {
  for (const store::Process& process : data.processes) {
    if (std::string value = process.attribute(name); !value.empty()) return value;
  }
  return {};
}

// The site casts a float32 weight on the CPU, by autocast itself.
bool could_be_kept(const store::Site& site) {
  using lanes::WhyNotCached;
  const bool reason = site.why == WhyNotCached::kNone || site.why == WhyNotCached::kNoRequiresGrad ||
                      site.why == WhyNotCached::kView || site.why == WhyNotCached::kInferenceMode;
  return site.cause == lanes::Cause::kAutocast && site.role == lanes::Role::kWeight &&
         (site.flags & lanes::kSiteParameter) != 0 && site.device == 0 && reason && is_low(site.to) &&
         site.from == kFloat && !site.traced() && !site.pass_through();
}

std::uint64_t optimizer_steps_of(const store::RunData& data, store::ProcessId process) {
  std::uint64_t steps = 0;
  for (const store::FactCount& count : data.fact_counts) {
    if (count.process == process && data.facts[count.fact].kind == lanes::FactKind::kOptimizerStep)
      steps += count.times;
  }
  return steps;
}

// Returns the time to prove that a weight of so many bytes was not written: a sum over it; for large weights that
// nobody trains, asking Linux's kernel.
double proof_ns(double bytes, bool trained) {
  const bool tracked = !trained && bytes >= 128 << 10;
  return tracked ? 800 + bytes / 1300 : 300 + bytes / 40;
}

}  // namespace

std::string enforced_policy(const store::RunData& data) { return first_attribute(data, "enforced_policy"); }
std::string enforced_policy_hash(const store::RunData& data) { return first_attribute(data, "enforced_policy_hash"); }

std::optional<store::Savings> saved_by_enforcing(const store::RunData& data) {
  if (!enforced_policy(data).empty()) return std::nullopt;
  double saved_ns = 0;
  std::uint64_t held = 0;
  for (const store::SiteUse& use : data.site_uses) {
    const store::Site& site = data.sites[use.site];
    const store::Counts& counts = use.counts;
    if (!could_be_kept(site) || counts.casts < 2 || counts.bytes == 0) continue;
    const std::uint64_t optimizer_steps = optimizer_steps_of(data, use.process);
    const bool trained = site.why != lanes::WhyNotCached::kNoRequiresGrad && optimizer_steps > 0;
    // A copy is kept from the second look on, where the weight is not known to stay as it is.
    const std::uint64_t weights = std::max<std::uint64_t>(1, use.evidence.most_kept);
    const std::uint64_t anew = trained ? optimizer_steps + 1 : site.why == lanes::WhyNotCached::kNoRequiresGrad ? 1 : 2;
    if (counts.casts <= weights * anew) continue;
    const double casts = static_cast<double>(counts.casts);
    const double each =
        static_cast<double>(counts.cpu_ns - std::min(counts.cpu_ns, use.evidence.first_ns)) / (casts - 1);
    const double copy_bytes = static_cast<double>(counts.bytes) / casts;
    const double gain = each - proof_ns(2 * copy_bytes, trained);
    if (gain <= 0) continue;
    saved_ns += gain * (casts - static_cast<double>(weights * anew));
    held += static_cast<std::uint64_t>(copy_bytes) * weights;
  }
  std::optional<store::Savings> savings = saved_per_step(data, saved_ns);
  if (!savings || savings->share_of_step < kWorthSaying) return std::nullopt;
  savings->held_bytes = held;
  return savings;
}

}  // namespace castscope::rules
