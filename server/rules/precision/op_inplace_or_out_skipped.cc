// op-inplace-or-out-skipped: in an autocast region a matrix product is called in its in-place form (addmm_) or with
// out=, for which autocast has no kernel: it runs in the dtype of its arguments, in float32, or raises when they
// differ.
#include <map>

#include "server/rules/evidence/amp_handle.h"
#include "server/rules/evidence/error_facts.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/mode_of.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/operators/use_graph.h"
#include "server/rules/evidence/operators/uses.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/evidence/places/regions.h"
#include "server/rules/inquiry/rule.h"
#include "server/store/run/names.h"

namespace castscope::rules::op_inplace_or_out_skipped {
namespace {

// "Ops that can autocast to lower precision" (amp.html). Nothing is lost with the other operators, which autocast would
// run in float32 or leave as they are.
constexpr std::string_view kLowered[] = {"addbmm",        "addmm",  "addmv",  "addr",   "baddbmm", "bmm",
                                         "chain_matmul",  "conv1d", "conv2d", "conv3d", "linear",  "linalg_multi_dot",
                                         "linalg_vecdot", "matmul", "mm",     "mv"};

std::string functional(std::string_view op) {
  std::string name = short_name(op);
  if (name.ends_with('_')) name.pop_back();
  return name;
}

struct Group {
  store::OperatorUseId use = {};
  std::uint64_t times = 0, bytes = 0;
  const store::Fact* error = nullptr;
};

void add_finding(Inquiry& inquiry, const Group& group) {
  const store::RunData& data = inquiry.data;
  const store::OperatorUse& use = data.operator_uses[group.use];
  const std::string low(store::dtype_name(enabled_region(data, use)->dtype)), name(functional(use.op));
  const bool in_place = short_name(use.op).ends_with('_');
  const std::string form = in_place ? short_name(use.op) : name + "(…, out=…)";
  Finding& finding = inquiry.add(use.stack);
  // A severity that the user sets for the rule takes precedence.
  if (group.error != nullptr && finding.severity == "info") finding.severity = "warning";
  finding.title = group.error == nullptr
                      ? form + " runs in float32 in a region of " + low + ": autocast casts nothing for this form"
                      : form + " raises in a region of " + low + ": autocast casts nothing for this form, and its " +
                            "arguments differ in dtype";
  finding.evidence_number = {{"calls", group.times}, {"result_bytes", group.bytes}};
  finding.evidence_text = {{"operator", use.op}, {"region_dtype", low}, {"argument_dtypes", words_of(use.operands)}};
  if (group.error != nullptr) finding.evidence_text.emplace_back("error_message", group.error->text);
  finding.deep_only = true;
  finding.fix = "Call the form that gives back a new tensor (x = torch." + name + "(…)), which autocast runs in " +
                low + "; or, if float32 is meant, say so with " + turned_off(inquiry.data, use.region) +
                " and .float() on the arguments.";
}

void judge_skipped_forms(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  const UseGraph graph(data);
  std::map<store::OperatorUseId, const store::Fact*> errors;
  for (const store::Fact& fact : data.facts)
    if (topic_of(data, fact) != ErrorTopic::kOther && fact.subject != 0) errors.emplace(fact.subject, &fact);
  std::map<Line, Group> groups;
  for (const store::OperatorUse& use : data.operator_uses) {
    if (!is_forward(use) || !use.is(lanes::kUseSiblingEligible) || !is_one_of(functional(use.op), kLowered)) continue;
    if (!in_autocast(data, use) || !has_operand(use, kFloat)) continue;
    if (!mode_of(data, use).has_value()) continue;  // generated code may call this form where the user wrote another
    const auto error = errors.find(use.id);
    if (error == errors.end() && graph.total(use.id).times == 0) continue;
    Group& group = groups[line_of(data, use.stack)];
    if (group.use == 0) group.use = use.id;
    group.times += graph.total(use.id).times;
    group.bytes += graph.total(use.id).bytes;
    if (error != errors.end() && group.error == nullptr) group.error = error->second, group.use = use.id;
  }
  for (const auto& [line, group] : groups) add_finding(inquiry, group);
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "op-inplace-or-out-skipped",
    .severity = "info",
    .summary = "a matrix product in its in-place or out= form, which autocast leaves alone",
    .thresholds = {},
    .sees = kOperators,
    .explanation = {.what = "A matrix product in an autocast region is called in-place (`addmm_`) or with `out=`.",
                    .why = "Autocast has kernels for the forms that give back a new tensor only. These run in the "
                           "dtype of their arguments: in float32 and no faster than without autocast, or they raise "
                           "when one argument comes from an operator that autocast did run in low precision.",
                    .example = R"(import torch

a, b, out = torch.randn(64, 64), torch.randn(64, 64), torch.empty(64, 64)
with torch.autocast("cpu", dtype=torch.bfloat16):
    torch.mm(a, b, out=out)  # float32)",
                    .fix = "Call the form that gives back a new tensor.",
                    .fixed_example = R"(import torch

a, b, out = torch.randn(64, 64), torch.randn(64, 64), torch.empty(64, 64)
with torch.autocast("cpu", dtype=torch.bfloat16):
    out = torch.mm(a, b)  # bfloat16)",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html#op-eligibility"},
    .judge = judge_skipped_forms,
};

}  // namespace castscope::rules::op_inplace_or_out_skipped
