// script-dtype-differs: the same line computed in one dtype in Python and in another when TorchScript ran it, scripted
// or traced. TorchScript's autocast pass has lists of its own, and brings operands of unknown dtypes to float32 to be
// safe.
//
// Where Python did not run the line, the rule judges the script alone: it compares the dtypes that the script's
// operators were given and computed in with those of eager autocast. That finding is less than an error, since nobody
// has seen another result.
#include <set>

#include "server/rules/evidence/counts/step_time.h"
#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/mode_differences.h"
#include "server/rules/evidence/mode_facts.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/inquiry/rule.h"
#include "server/rules/modes/script/script_lists.h"
#include "server/store/run/names.h"

namespace castscope::rules::script_dtype_differs {
namespace {

// A region with autocast off would not help: a trace drops it, and in such a region of a script both autocasts cast,
// as long as the region around the call is one of Python.
std::string fix_for(const ModeDifference& found) {
  if (!is_low(found.eager->computed))
    return "If float32 matters here, bring the arguments to float32 in the code (x.float()).";
  return "For the same dtype in both, give the operator float32 in the code (x.float()). If the low precision is "
         "wanted, use torch.compile or plain Python for this part: both follow eager autocast.";
}

using Scripted = std::map<Line, std::map<std::string, ScriptedOperator>>;

// Says why TorchScript's autocast differs from eager autocast.
std::string_view cause_of(ListDifference difference, bool several = false) {
  switch (difference) {
    case ListDifference::kPromotes:
      return "TorchScript's autocast promotes where it does not know the dtypes";
    case ListDifference::kRaises:
      return several ? "TorchScript's autocast has them on its list" : "TorchScript's autocast has it on its list";
    case ListDifference::kLeavesLow:
    case ListDifference::kLeavesFloat:
      return several ? "TorchScript's autocast casts nothing for them" : "TorchScript's autocast casts nothing for it";
  }
  return "";
}

// Returns whether the differences are of several operators.
bool are_several(const Differences& differences) { return operators_of(differences).find(", ") != std::string::npos; }

// Returns ": TorchScript's autocast …" where the script alone shows the differences and all have one cause; else "".
std::string cause_text(const Line& line, const Differences& differences, const Scripted& scripted) {
  const auto at = scripted.find(line);
  if (at == scripted.end()) return "";
  std::set<std::string_view> causes;
  for (const ModeDifference& difference : differences) {
    const auto op = at->second.find(short_name(difference.other->op));
    causes.insert(op == at->second.end() ? "" : cause_of(op->second.difference, are_several(differences)));
  }
  return causes.size() == 1 && !causes.begin()->empty() ? ": " + std::string(*causes.begin()) : "";
}

void judge_pairs(Inquiry& inquiry, const ModeDifferences& found, const Scripted& scripted) {
  for (const auto& [line, differences] : found.first()) {
    const ModeDifference& first = differences.front();
    Finding& finding = inquiry.add(first.other->stack);
    const bool several = are_several(differences);
    finding.title = operators_of(differences) + (several ? " compute in " : " computes in ") + first.dtype() +
                    " where TorchScript runs " + (several ? "them, in " : "it, in ") + first.eager_dtype() +
                    " in Python" + cause_text(line, differences, scripted);
    found.add_evidence(finding, differences);
    finding.fix = fix_for(first);
  }
}

std::string title_of(const std::string& op, const ScriptedOperator& found) {
  const std::string eager(store::dtype_name(found.eager)), here(store::dtype_name(found.use->computed));
  const std::string cause(cause_of(found.difference));
  switch (found.difference) {
    case ListDifference::kPromotes:
    case ListDifference::kRaises:
      return op + " is brought from " + eager + " to float32 in a script: " + cause + ", eager autocast leaves " +
             eager;
    case ListDifference::kLeavesLow:
      return op + " computes in " + here + " in a script: " + cause + ", eager autocast computes it in float32";
    case ListDifference::kLeavesFloat:
      return op + " computes in float32 in a script: " + cause + ", eager autocast casts to " + eager;
  }
  return "";
}

std::string fix_for(const ScriptedOperator& found) {
  switch (found.difference) {
    case ListDifference::kPromotes:
    case ListDifference::kRaises:
      return "If the low precision is wanted, put the operator into " + autocast_off(found.use->device) +
             " in the script: there it computes in the dtype that it is given.";
    case ListDifference::kLeavesLow:
      return "Bring what it is given to float32 in the code (x.float()), as eager autocast does.";
    case ListDifference::kLeavesFloat:
      return "Open the region around the call of the script instead of inside of it: eager autocast then casts what "
             "TorchScript's does not know.";
  }
  return "";
}

bool costs_casts(ListDifference difference) {
  return difference == ListDifference::kPromotes || difference == ListDifference::kRaises;
}

void add_finding(Inquiry& inquiry, const std::string& op, const ScriptedOperator& found) {
  Finding& finding = inquiry.add(found.use->stack, costs_casts(found.difference) ? "performance" : "warning");
  finding.title = title_of(op, found);
  finding.evidence_number = {{"calls", found.times}};
  finding.evidence_text = {{"operator", found.use->op},
                           {"computed_in", std::string(store::dtype_name(found.use->computed))},
                           {"eager_computed_in", std::string(store::dtype_name(found.eager))}};
  if (costs_casts(found.difference)) {
    finding.evidence_number.insert(
        finding.evidence_number.end(),
        {{"casts", found.casts.casts}, {"bytes", found.casts.bytes}, {"cpu_ns", found.casts.cpu_ns}});
    finding.savings = saved_per_step(inquiry.data, static_cast<double>(found.casts.cpu_ns));
  }
  finding.deep_only = true;
  finding.fix = fix_for(found);
}

void judge_dtypes(Inquiry& inquiry) {
  const ModeDifferences pairs(inquiry.data, {Mode::kScript, Mode::kTrace});
  const UseGraph graph(inquiry.data);
  const Scripted scripted = scripted_differences(inquiry.data, graph);
  judge_pairs(inquiry, pairs, scripted);
  const std::set<Line> told = pairs.lines();
  for (const auto& [line, operators] : scripted) {
    if (told.contains(line)) continue;
    for (const auto& [op, found] : operators) add_finding(inquiry, op, found);
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "script-dtype-differs",
    .severity = "error",
    .harm = Harm::kPrecision,
    .summary = "a line computes in another dtype in TorchScript than in Python",
    .thresholds = {},
    .sees = kOperators,
    .explanation = {.what = "The same line ran in Python and by TorchScript, scripted or traced, each in a region, "
                            "and an operator of it computed in different dtypes. Where only TorchScript ran it, what "
                            "it was seen to do is held against what eager autocast does with that operator: operands "
                            "of one low dtype that were promoted, or an operator that one of the two does not know.",
                    .why = "TorchScript casts by a pass with lists of its own: gelu, layer_norm, sum, log and others "
                           "go to float32 there, on a CPU eager autocast leaves them in bfloat16; add, mul, div and "
                           "stack are brought to float32 wherever the dtypes are not known; norm (on a GPU) and "
                           "conv_transpose2d are not on its lists, and eager autocast casts them.",
                    .example = R"(import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.norm = torch.nn.Linear(64, 64), torch.nn.LayerNorm(64)

    def forward(self, x):
        return self.norm(self.linear(x))

net, x = Net(), torch.randn(16, 64)
scripted = torch.jit.script(net)
with torch.autocast("cpu", dtype=torch.bfloat16):
    y, z = net(x), scripted(x)
print(y.dtype, z.dtype)  # bfloat16, float32)",
                    .fix = "Give the operator float32 in the code (`x.float()`), where that is wanted. Where the low "
                           "precision is wanted, leave TorchScript: torch.compile and torch.export follow eager "
                           "autocast.",
                    .fixed_example = R"(import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.norm = torch.nn.Linear(64, 64), torch.nn.LayerNorm(64)

    def forward(self, x):
        return self.norm(self.linear(x).float())

net, x = Net(), torch.randn(16, 64)
scripted = torch.jit.script(net)
with torch.autocast("cpu", dtype=torch.bfloat16):
    y, z = net(x), scripted(x)
print(y.dtype, z.dtype)  # float32, float32)",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html"},
    .judge = judge_dtypes,
};

}  // namespace castscope::rules::script_dtype_differs
