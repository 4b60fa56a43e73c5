// script-stops-at-python: a region of scripted code is around a call of Python code (torch.jit.ignore, a function that
// was not compiled), and operators in it that autocast would cast run in float32. The casts of such a region are in the
// graph: Python code runs as if the region were not there.
#include <map>

#include "server/rules/evidence/counts/counts.h"
#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/evidence/region_work.h"
#include "server/rules/inquiry/rule.h"

namespace castscope::rules::script_stops_at_python {
namespace {

struct Stopped {
  store::StackId stack = {};
  std::uint64_t times = 0;
  std::vector<const store::OperatorUse*> uses;
};

std::map<Line, Stopped> stopped_regions(const store::RunData& data) {
  std::map<Line, Stopped> lines;
  const auto times = times_of_facts(data);
  for (const store::Fact& fact : data.facts) {
    if (fact.kind != lanes::FactKind::kScriptStopsAtPython || fact.subject == 0 || times[fact.id] == 0) continue;
    const store::OperatorUse& use = data.operator_uses[store::OperatorUseId(fact.subject)];
    if (!is_uncast_work(use)) continue;
    Stopped& stopped = lines[line_of(data, fact.stack)];
    if (stopped.stack == 0) stopped.stack = fact.stack;
    stopped.times += times[fact.id];
    stopped.uses.push_back(&use);
  }
  return lines;
}

void judge_python_calls(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  for (const auto& [line, stopped] : stopped_regions(data)) {
    const store::OperatorUse& first = *stopped.uses.front();
    const Line at = line_of(data, first.stack);
    Finding& finding = inquiry.add(stopped.stack);
    finding.title = "this region of a script does not reach the Python code that it calls: " + first.op + " at " +
                    at.short_text() + " runs in float32";
    finding.evidence_number = {{"operators_in_float32", stopped.times}};
    finding.evidence_text = {{"operator_names", operators_text(stopped.uses)},
                             {"first_operator_at", place_text(data, at)}};
    add_related(finding, data, first.stack);
    finding.deep_only = true;
    finding.fix =
        "Open the region in the Python function itself (`with torch.autocast(…)` in it works as in eager code), or let "
        "TorchScript compile the function. It then computes in the region's dtype.";
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "script-stops-at-python",
    .severity = "warning",
    .harm = Harm::kPrecision,
    .summary = "a region of a script does not reach the Python code that it calls",
    .thresholds = {},
    .sees = kOperators,
    .explanation = {.what = "Scripted code has an autocast region around a call of Python code: a function marked with "
                            "`torch.jit.ignore`, or one that TorchScript calls without compiling it.",
                    .why = "TorchScript writes the casts of a region into its graph and leaves the state of eager "
                           "autocast alone. A function that is called as Python runs as if there were no region, in "
                           "float32, and nothing says so.",
                    .example = R"(import torch

@torch.jit.ignore
def in_python(a):
    return torch.mm(a, a)

@torch.jit.script
def product(a):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return in_python(a)

y = product(torch.randn(8, 8))
print(y.dtype)  # torch.float32)",
                    .fix =
                        "Open the region in the Python function, or compile that function too. It then computes in the "
                        "region's dtype.",
                    .fixed_example = R"(import torch

@torch.jit.ignore
def in_python(a):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return torch.mm(a, a)

@torch.jit.script
def product(a):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return in_python(a)

y = product(torch.randn(8, 8))
print(y.dtype)  # torch.bfloat16)",
                    .links = "https://docs.pytorch.org/docs/stable/jit.html"},
    .judge = judge_python_calls,
};

}  // namespace castscope::rules::script_stops_at_python
