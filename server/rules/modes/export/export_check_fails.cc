// export-check-fails: a program of torch.export checks for a dtype that it does not compute. `castscope check
// model.pt2` finds it in the program's file (server/exported/findings.cc).
#include "server/rules/evidence/export_words.h"
#include "server/rules/inquiry/rule.h"

namespace castscope::rules::export_check_fails {
namespace {

// Nothing that is recorded of a run shows this yet.
void judge_checks(Inquiry&) {}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = kExportCheckFails,
    .severity = kExportSeverity,
    .harm = Harm::kError,
    .summary = "an exported program checks for a dtype that its autocast region does not give",
    .thresholds = {},
    .explanation =
        {.what = "A model with an autocast region in its forward is exported with `strict=True`. The program keeps the "
                 "region, but what was recorded in it are the dtypes of float32 code. Where the model converts what "
                 "comes out of the region (`.float()`, `.to(…)`), the program checks for the recorded dtype first. "
                 "`castscope check model.pt2` tells it from the file.",
         .why = "The export succeeds, and the program raises \"Tensor dtype mismatch!\" whenever it is run.",
         .example = R"(# Found in the file, not in this run: castscope check model.pt2
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.layer(x)
        return y.float()

x = torch.randn(4, 8)
program = torch.export.export(Net().eval(), (x,), strict=True)
torch.export.save(program, "model.pt2")
try:
    y = program.module()(x)
except RuntimeError as error:
    print(error)  # Tensor dtype mismatch!)",
         .fix = kExportCheckFailsFix,
         .fixed_example = R"(import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.layer(x)
        return y.float()

x = torch.randn(4, 8)
program = torch.export.export(Net().eval(), (x,), strict=False)
torch.export.save(program, "model.pt2")
y = program.module()(x))",
         .links = "https://docs.pytorch.org/docs/stable/export.html"},
    .judge = judge_checks,
};

}  // namespace castscope::rules::export_check_fails
