// export-drops-region: a model was exported inside an autocast region, which the program does not have. The rule sees
// it where the model is exported, and `castscope check model.pt2` finds it in the program's file
// (server/exported/findings.cc).
#include <algorithm>
#include <set>

#include "server/rules/evidence/export_words.h"
#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/mode_facts.h"
#include "server/rules/inquiry/rule.h"

namespace castscope::rules::export_drops_region {
namespace {

// Returns the processes that decomposed a program within the region (run_decompositions). Such a program gets the casts
// of the region, but nothing records which program it was, so the rule says nothing of the others of that process.
std::set<store::ProcessId> decomposing(const store::RunData& data) {
  std::set<store::ProcessId> processes;
  for (const auto& [line, facts] : mode_facts(data, lanes::FactKind::kExportDropsRegion))
    if (std::ranges::any_of(facts.facts, [](const store::Fact* fact) { return fact->detail == 1; }))
      processes.insert(facts.processes.begin(), facts.processes.end());
  return processes;
}

void judge_exports(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  const std::set<store::ProcessId> spared = decomposing(data);
  for (const auto& [line, facts] : mode_facts(data, lanes::FactKind::kExportDropsRegion)) {
    if (std::ranges::all_of(facts.processes, [&](store::ProcessId process) { return spared.contains(process); }))
      continue;
    Finding& finding = inquiry.add(facts.first().stack);
    finding.title =
        "a program is exported here within an autocast region that it does not have: it computes in the dtypes of its "
        "inputs and weights";
    if (facts.first().subject != 0)
      add_related(finding, data, data.regions[store::RegionId(facts.first().subject)].stack);
    finding.fix = kExportDropsRegionFix;
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = kExportDropsRegion,
    .severity = kExportSeverity,
    .harm = Harm::kPrecision,
    .summary = "torch.export dropped the autocast region around it",
    .thresholds = {},
    .explanation =
        {.what = "A model is exported within `with torch.autocast(…)`. The program has the dtypes that the region gave "
                 "recorded beside its operators, and no region: it computes in those of its inputs and weights. "
                 "`castscope check model.pt2` tells it from the file.",
         .why = "What is deployed computes in float32, slower than what was measured and with other results, though "
                "its own records say bfloat16. AOTInductor compiles what the program computes, and its code heeds no "
                "region around its call. Where the model converts dtypes, the program checks for the recorded ones and "
                "stops. Once the program has been decomposed (run_decompositions), nothing in it shows this any more.",
         .example = R"(import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)

    def forward(self, x):
        return self.layer(x)

x = torch.randn(4, 8)
with torch.autocast("cpu", dtype=torch.bfloat16):
    program = torch.export.export(Net().eval(), (x,))
    y = program.module()(x)
torch.export.save(program, "model.pt2")
z = torch.export.load("model.pt2").module()(x)
print(y.dtype, z.dtype)  # bfloat16, float32)",
         .fix = kExportDropsRegionFix,
         .fixed_example = R"(import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.layer(x)

x = torch.randn(4, 8)
program = torch.export.export(Net().eval(), (x,))
y = program.module()(x)
torch.export.save(program, "model.pt2")
z = torch.export.load("model.pt2").module()(x)
print(y.dtype, z.dtype)  # bfloat16, bfloat16)",
         .links = "https://docs.pytorch.org/docs/stable/export.html"},
    .judge = judge_exports,
};

}  // namespace castscope::rules::export_drops_region
