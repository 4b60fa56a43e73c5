// export-dtype-differs: the same line computed in one dtype in Python, within a region, and in another in a program of
// torch.export, made in this run or loaded.
#include "server/rules/finding.h"
#include "server/rules/modes/export_words.h"
#include "server/rules/modes/mode_differences.h"
#include "server/rules/rules.h"
#include "server/store/names.h"

namespace castscope::rules {
namespace {

void judge_it(Inquiry& inquiry) {
  const ModeDifferences found(inquiry.data, {Mode::kExport});
  for (const auto& [line, differences] : found.first()) {
    const ModeDifference& first = differences.front();
    Finding& finding = inquiry.add(first.other->stack);
    const std::string exported(store::dtype_name(first.other->computed)),
        eager(store::dtype_name(first.eager->computed));
    finding.title =
        operators_of(differences) + " computes in " + exported + " in an exported program, in " + eager + " in Python";
    finding.evidence_text = {{"exported", exported}, {"python", eager}};
    if (std::string lines = found.followers(differences); !lines.empty())
      finding.evidence_text.emplace_back("and_from_there", std::move(lines));
    finding.deep_only = true;
    finding.fix = kExportDropsRegionFix;
  }
}

}  // namespace

extern const Rule export_dtype_differs;
const Rule export_dtype_differs = {
    .name = "export-dtype-differs",
    .severity = kExportSeverity,
    .summary = "an exported program computes in another dtype than eager code",
    .thresholds = {},
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
    print(net(x).dtype)  # bfloat16
print(program(x).dtype)  # float32)",
         .fix = kExportDropsRegionFix,
         .links = "https://docs.pytorch.org/docs/stable/export.html"},
    .judge = judge_it,
};

}  // namespace castscope::rules
