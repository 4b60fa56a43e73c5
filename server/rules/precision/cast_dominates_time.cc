// cast-dominates-time: casting the weights of an operator takes a large part of the operator's time, and the casts
// could be saved: the weight is the same each time (it is frozen, or the process only infers). A weight that is trained
// changes from step to step, so its casts, in validation too, are the ordinary cost of autocast and no finding.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "absl/strings/str_join.h"
#include "server/rules/evidence/counts/counts.h"
#include "server/rules/evidence/counts/step_time.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/operators/use_graph.h"
#include "server/rules/evidence/operators/uses.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/evidence/places/sites.h"
#include "server/rules/inquiry/rule.h"
#include "server/store/run/names.h"

namespace castscope::rules::cast_dominates_time {
namespace {

// Casting n weights moves 6 n bytes (4 read, 2 written), and a product with a single row moves 2 n: as both wait for
// memory, casts are up to three quarters of the whole. With more rows the product takes longer and the cast does not.
// Below a fifth, a kept copy gains less than that fifth of the operator.
//
// 250,000 weights (500 × 500) take some 60 µs at 25 GB/s; smaller ones cost only the call, whatever their dtype.
constexpr Threshold kThresholds[] = {
    {"share", 0.2, "of the operator's time that casting its weights takes; less is hardly worth a copy"},
    {"copy_bytes", 500'000, "of the copies that one call has made; less is the cost of calls, not of casting"}};

using Key = std::tuple<store::StackId, store::ModuleId, store::RegionId, std::string>;  // … operator

struct Casting {
  std::map<std::uint32_t, std::uint64_t> calls;  // by argument: casts and hits
  double ns = 0;                                 // without each site's first cast, which may pay for page faults
  std::uint64_t casts = 0, bytes = 0, copy_bytes = 0;
  std::set<std::string> why;
  std::uint64_t most_calls() const {
    std::uint64_t most = 0;
    for (const auto& [argument, count] : calls) most = std::max(most, count);
    return most;
  }
};

bool stays_the_same(const store::Site& site) {
  return site.why == lanes::WhyNotCached::kNoRequiresGrad || site.why == lanes::WhyNotCached::kNotFp32;
}

std::map<Key, std::vector<const store::SiteUse*>> weights_cast(const store::RunData& data) {
  std::map<Key, std::vector<const store::SiteUse*>> sites;
  for (const store::SiteUse& use : data.site_uses) {
    const store::Site& site = data.sites[use.site];
    if (site.cause == lanes::Cause::kAutocast && is_of_model(site) && !(site.flags & lanes::kSiteNoCast))
      sites[{site.stack, site.module, site.region, site.op}].push_back(&use);
  }
  return sites;
}

Casting casting_for(const store::RunData& data, const store::OperatorUse& use,
                    const std::vector<const store::SiteUse*>& sites, const std::set<store::ProcessId>& training) {
  Casting casting;
  for (const store::SiteUse* of : sites) {
    const store::Site& site = data.sites[of->site];
    const store::Counts& c = of->counts;
    const std::uint32_t argument = site.call_site ? data.call_sites[site.call_site].argument : 0;
    casting.calls[argument] += c.casts + c.hits;
    // A weight that is made anew for each call comes without a name: nobody can tell whether it is the same.
    if (!(site.flags & lanes::kSiteParameter) && site.role == lanes::Role::kWeight && of->evidence.same_source == 0 &&
        of->evidence.most_in_region > 1)
      continue;
    const bool trained = use.is(lanes::kUseGradMode) || training.contains(of->process);
    if ((trained && !stays_the_same(site)) || c.casts == 0) continue;
    const double first = std::min(static_cast<double>(of->evidence.first_ns), static_cast<double>(c.cpu_ns));
    const double rest = static_cast<double>(c.cpu_ns) - first;
    casting.ns += c.casts == 1 ? first : rest * static_cast<double>(c.casts) / static_cast<double>(c.casts - 1);
    casting.casts += c.casts;
    casting.bytes += c.bytes;
    casting.copy_bytes += c.bytes / c.casts;
    casting.why.insert(std::string(store::name(site.why)));
  }
  return casting;
}

struct Worst {
  store::OperatorUseId use = {};
  Casting casting;
  double share = 0, ns_per_call = 0;
};

void add_finding(Inquiry& inquiry, const UseGraph& graph, const Worst& worst) {
  const store::RunData& data = inquiry.data;
  const store::OperatorUse& use = graph.use(worst.use);
  const auto percent = static_cast<std::int64_t>(100 * worst.share);
  const std::string op(short_name(use.op));
  Finding& finding = inquiry.add(use.stack);
  finding.title = "casting its weights takes " + std::to_string(percent) + " % of the time of " + op;
  finding.evidence_number = {{"share_of_operator_percent", percent},
                             {"cast_ns_per_call", static_cast<std::int64_t>(worst.ns_per_call)},
                             {"operator_ns_per_call", static_cast<std::int64_t>(graph.total(use.id).ns_each())},
                             {"casts", worst.casting.casts},
                             {"bytes", worst.casting.bytes}};
  finding.evidence_text = {{"operator", use.op}, {"why_not_cached", absl::StrJoin(worst.casting.why, ", ")}};
  finding.deep_only = true;
  finding.savings = saved_per_step(data, worst.casting.ns);
  if (!finding.savings) finding.savings.emplace();
  finding.savings->held_bytes = worst.casting.copy_bytes;
  finding.fix = "Convert the weights once, before the loop (module.to(torch." +
                std::string(store::dtype_name(use.computed)) +
                ")), as they do not change; or give the operator more rows at a time.";
}

void judge_shares(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  const UseGraph graph(data);
  const auto sites = weights_cast(data);
  const std::set<store::ProcessId> trains = processes_that_train(data);
  std::map<Line, Worst> lines;
  for (const store::OperatorUse& use : data.operator_uses) {
    if (!is_forward(use) || !use.is(lanes::kUseEligible) || !is_low(use.computed)) continue;
    const auto of = sites.find({use.stack, use.module, use.region, use.op});
    if (of == sites.end() || graph.total(use.id).ns == 0) continue;
    const Casting casting = casting_for(data, use, of->second, trains);
    if (casting.casts == 0 || casting.most_calls() < 2) continue;  // a single cast wastes nothing
    const double ns_per_call = casting.ns / static_cast<double>(casting.most_calls());
    const double share = std::min(1.0, ns_per_call / graph.total(use.id).ns_each());
    if (share < inquiry.threshold("share")) continue;
    if (static_cast<double>(casting.copy_bytes) < inquiry.threshold("copy_bytes")) continue;
    Worst& worst = lines[line_of(data, use.stack)];
    if (share > worst.share) worst = {use.id, casting, share, ns_per_call};
  }
  for (const auto& [line, worst] : lines) add_finding(inquiry, graph, worst);
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "cast-dominates-time",
    .severity = "performance",
    .harm = Harm::kTime,
    .summary = "casting weights that do not change takes much of an operator's time",
    .thresholds = kThresholds,
    .sees = kOperators,
    .explanation = {.what =
                        "An operator is given few rows at a time and a large weight that is cast for it, though the "
                        "weight does not change between the calls.",
                    .why = "The cast reads the whole weight in float32 and writes it in low precision; the product "
                           "itself reads it once. With one row the cast is the larger part, and without autocast the "
                           "operator would be faster.",
                    .example = R"(import torch

layer = torch.nn.Linear(2048, 2048).requires_grad_(False)
for _ in range(10):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = layer(torch.randn(1, 2048)))",
                    .fix = "Convert the weights once (`module.to(torch.bfloat16)`), or work on more rows at a time.",
                    .fixed_example = R"(import torch

layer = torch.nn.Linear(2048, 2048).requires_grad_(False)
layer.to(torch.bfloat16)
for _ in range(10):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = layer(torch.randn(1, 2048)))",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html#torch.autocast"},
    .judge = judge_shares,
};

}  // namespace castscope::rules::cast_dominates_time
