// script-recasts-weights: within one stay in a region TorchScript cast the same weight more than once. Its graphs hold
// a cast for each use, and do not know the cache of eager autocast.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/evidence/places/sites.h"
#include "server/rules/evidence/weights.h"
#include "server/rules/inquiry/rule.h"

namespace castscope::rules::script_recasts_weights {
namespace {

using Cost = std::pair<std::uint64_t, std::uint64_t>;  // first bytes, then time

struct Recast {
  store::StackId stack = {};
  std::uint64_t casts = 0, repeats = 0, cpu_ns = 0;
  std::map<std::string, Cost> what;  // "weight of linear"
};

void judge_recasts(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  std::map<Line, Recast> at;
  for (const store::SiteUse& use : data.site_uses) {
    const store::Site& site = data.sites[use.site];
    if (site.cause != lanes::Cause::kScript || !is_of_model(site)) continue;
    Recast& recast = at[line_of(data, site.stack)];
    recast.casts += use.counts.casts;
    if (use.evidence.same_source == 0) continue;
    if (recast.stack == 0) recast.stack = site.stack;
    recast.repeats += use.evidence.same_source;
    recast.cpu_ns += use.counts.cpu_ns;
    Cost& cost = recast.what[argument_text(data, site) + " of " + short_name(site.op)];
    cost.first += use.counts.bytes;
    cost.second += use.counts.cpu_ns;
  }
  for (const auto& [line, recast] : at) {
    if (recast.repeats == 0) continue;
    Finding& finding = inquiry.add(recast.stack);
    const auto most = std::ranges::max_element(recast.what, {}, [](const auto& one) { return one.second; });
    finding.title = subject_of(most->first, recast.what.size(), "other") +
                    " cast again at each use by TorchScript, which has no cache";
    finding.evidence_number = {{"casts", recast.casts}, {"repeated_casts", recast.repeats}, {"cpu_ns", recast.cpu_ns}};
    finding.fix =
        "Freeze the script for inference (torch.jit.freeze(script.eval()), which casts its weights once), convert the "
        "weights once, or use torch.compile.";
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "script-recasts-weights",
    .severity = "performance",
    .harm = Harm::kTime,
    .summary = "TorchScript casts the same weight again at each use",
    .thresholds = {},
    .sees = kEvents,
    .explanation = {.what = "A scripted or traced model used a weight several times within one autocast region.",
                    .why = "Eager autocast keeps the copy of a weight until the outermost region ends; a graph of "
                           "TorchScript casts it each time.",
                    .example = R"(import torch

layer = torch.jit.script(torch.nn.Linear(8, 8))
x = torch.randn(2, 8)
with torch.autocast("cpu", dtype=torch.bfloat16):
    y = layer(layer(x)))",
                    .fix = "`torch.jit.freeze(script.eval())` for inference.",
                    .fixed_example = R"(import torch

layer = torch.jit.freeze(torch.jit.script(torch.nn.Linear(8, 8)).eval())
x = torch.randn(2, 8)
with torch.autocast("cpu", dtype=torch.bfloat16):
    y = layer(layer(x)))",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html"},
    .judge = judge_recasts,
};

}  // namespace castscope::rules::script_recasts_weights
