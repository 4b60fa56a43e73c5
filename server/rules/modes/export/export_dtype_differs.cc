// export-dtype-differs: the same line computed in one dtype in Python, within a region, and in another in a program of
// torch.export, made in this run or loaded.
#include <map>
#include <utility>
#include <vector>

#include "server/rules/evidence/export_words.h"
#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/mode_differences.h"
#include "server/rules/inquiry/rule.h"

namespace castscope::rules::export_dtype_differs {
namespace {

// Within a region, autocast acts on the program's operators by their names, and the operators of a decomposed program
// are on none of its lists.
constexpr char kTakenApartFix[] =
    "Run the program as it was exported, or open the region inside the model's forward: autocast has no rule for the "
    "operators that run_decompositions leaves.";

// An exported program runs outside of any region, where all lines differ for one reason: lines with the same dtypes are
// reported together.
std::vector<std::vector<Differences>> groups_of(const ModeDifferences& found) {
  std::vector<std::vector<Differences>> groups;
  std::map<std::pair<std::uint8_t, std::uint8_t>, std::size_t> outside;  // dtypes, exported and eager
  for (auto& [line, differences] : found.first()) {
    const ModeDifference& first = differences.front();
    const auto [group, fresh] = first.other->region == 0
                                    ? outside.try_emplace({first.other->computed, first.eager->computed}, groups.size())
                                    : std::pair(outside.end(), true);
    if (fresh)
      groups.push_back({differences});
    else
      groups[group->second].push_back(differences);
  }
  return groups;
}

void judge_dtypes(Inquiry& inquiry) {
  const ModeDifferences found(inquiry.data, {Mode::kExport});
  for (const std::vector<Differences>& group : groups_of(found)) {
    const ModeDifference& first = group.front().front();
    Finding& finding = inquiry.add(first.other->stack);
    finding.title = operators_of(group.front()) + " computes in " + first.dtype() + " in an exported program, in " +
                    first.eager_dtype() + " in Python";
    if (group.size() > 1) finding.title += "; so do " + counted(group.size() - 1, "more line");
    found.add_evidence(finding, group.front());
    for (std::size_t i = 1; i < group.size(); ++i) add_related(finding, inquiry.data, group[i].front().other->stack);
    const bool taken_apart = first.other->region != 0 && first.other->op != first.eager->op;
    finding.fix = taken_apart ? kTakenApartFix : kExportDropsRegionFix;
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "export-dtype-differs",
    .severity = kExportSeverity,
    .harm = Harm::kPrecision,
    .summary = "an exported program computes in another dtype than eager code",
    .thresholds = {},
    .sees = kOperators,
    .explanation =
        {.what = "The same line ran in Python, within an autocast region, and in a program of torch.export, and an "
                 "operator of it computed in different dtypes.",
         .why = "An exported program has the regions of the code that it was made from, and none of those around the "
                "export: what was measured in bfloat16 runs in float32, slower and with other results.",
         .example = R"(import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)

    def forward(self, x):
        return self.layer(x)

net, x = Net().eval(), torch.randn(4, 8)
program = torch.export.export(net, (x,)).module()
with torch.autocast("cpu", dtype=torch.bfloat16):
    y = net(x)
z = program(x)
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

net, x = Net().eval(), torch.randn(4, 8)
program = torch.export.export(net, (x,)).module()
y = net(x)
z = program(x)
print(y.dtype, z.dtype)  # bfloat16, bfloat16)",
         .links = "https://docs.pytorch.org/docs/stable/export.html"},
    .judge = judge_dtypes,
};

}  // namespace castscope::rules::export_dtype_differs
