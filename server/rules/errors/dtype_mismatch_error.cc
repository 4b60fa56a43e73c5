// dtype-mismatch-error: an operator raised because its arguments differ in dtype and one of them is a half: autocast
// cast one of them and not the other. Or the operator has no kernel for the half that it got (missing_kernels.h).
#include <algorithm>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "server/rules/errors/missing_kernels.h"
#include "server/rules/evidence/error_facts.h"
#include "server/rules/evidence/mode_facts.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/enforced_decisions.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/operators/uses.h"
#include "server/rules/evidence/places/code_places.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/evidence/places/regions.h"
#include "server/rules/inquiry/rule.h"
#include "server/store/run/names.h"

namespace castscope::rules::dtype_mismatch_error {
namespace {

enum class Why {
  kUnknown,
  kBackward,
  kScriptBackward,
  kAfterRegion,
  kNoRegion,
  kDisabled,
  kDouble,
  kWrites,
  kOut,
  kPolicy,
  kNoKernel,
  kOther
};

// An operator of a script whose pass did not cast some arguments: "conv2d", "bias: Optional[Tensor]".
struct LeftByScript {
  std::string op, arguments;
  // Returns "bias" or "hx, bias": the arguments without their types.
  std::string names() const {
    std::vector<std::string> names;
    for (const absl::string_view argument : absl::StrSplit(arguments, ", "))
      if (const std::size_t colon = argument.find(": "); colon != argument.npos)
        names.emplace_back(argument.substr(0, colon));
    return absl::StrJoin(names, ", ");
  }
};

// Returns such operators by the lines at which they raised.
std::map<Line, LeftByScript> left_by_scripts(const store::RunData& data) {
  std::map<Line, LeftByScript> left;
  for (const auto& [line, facts] : mode_facts(data, lanes::FactKind::kScriptLeavesArgument)) {
    const std::string& text = facts.first().text;
    const std::size_t space = std::min(text.find(' '), text.size());
    left[line] = {short_name(text.substr(0, space)), text.substr(std::min(space + 1, text.size()))};
  }
  return left;
}

// An argument that the pass leaves is float32, and meets one that it made low; the pass would not have cast other
// dtypes that meet in a script.
bool is_for_script(const ErrorAt& at) {
  const std::set<std::uint8_t> named = dtypes_named(at.text);
  return named.contains(kFloat) && named.size() == 2 && std::ranges::any_of(named, is_low);
}

// The operator was called by autograd, or by the backward of a script's graph, and not by the backward of the job's own
// Function.
bool is_of_backward(const store::RunData& data, const store::OperatorUse& use) {
  if (use.phase != lanes::Phase::kBackward) return false;
  return use.stack == 0 || use.is(lanes::kUseScript) || is_inside_torch(data, use.stack);
}

// The policy in force casts for this operator by rules of its own, or leaves it alone.
bool is_left_by_policy(const policy::Decision* decided) {
  return decided != nullptr && (decided->policy == policy::CastPolicy::kPassthrough || !decided->never_cast.empty());
}

bool is_made_by(const store::RunData& data, const store::OperatorUse& use, const lanes::Operand& operand,
                auto condition) {
  return std::ranges::any_of(data.flows, [&](const store::Flow& flow) {
    return flow.to == use.id && flow.argument == operand.argument && condition(data.operator_uses[flow.from]);
  });
}

// One of the halves is the result of a region. Where nobody saw which operator made it, it may be one if it was
// computed, and if a region had been open at all.
bool comes_from_region(const store::RunData& data, const store::OperatorUse& use) {
  const bool any_region = std::ranges::any_of(data.regions, [](const store::Region& region) { return region.enabled; });
  return any_region && std::ranges::any_of(use.operands, [&](const lanes::Operand& operand) {
           if (!is_low(operand.dtype) || operand.role == lanes::Role::kWeight || operand.role == lanes::Role::kBuffer)
             return false;
           if (is_made_by(data, use, operand, [&](const auto& from) { return in_autocast(data, from); })) return true;
           return !is_made_by(data, use, operand, [](const auto&) { return true; });
         });
}

Why why_of(const store::RunData& data, const EnforcedDecisions& enforced, const store::OperatorUse& use) {
  if (is_of_backward(data, use))
    return lines_cast_though_off(data).contains(line_of(data, use.stack)) ? Why::kScriptBackward : Why::kBackward;
  if (region_of_device(data, use) == nullptr) return comes_from_region(data, use) ? Why::kAfterRegion : Why::kNoRegion;
  if (!in_autocast(data, use)) return Why::kDisabled;
  if (has_operand(use, kDouble)) return Why::kDouble;
  if (use.is(lanes::kUseWrites)) return use.op.ends_with("out") ? Why::kOut : Why::kWrites;
  if (is_left_by_policy(enforced.of(use))) return Why::kPolicy;
  return use.is(lanes::kUseEligible) || enforced.of(use) != nullptr ? Why::kOther : Why::kNoKernel;
}

// The error was raised in the backward of the job's own Function, outside of autocast; the rules about such Functions
// report it.
bool raised_by_own_backward(const store::RunData& data, const ErrorAt& at) {
  const FunctionMethod method = function_method(data, at.stack);
  if (method.kind != FunctionMethod::Kind::kBackward || method.owner.empty() || at.use == 0) return false;
  return !in_autocast(data, data.operator_uses[at.use]);
}

// Returns "weight": the argument's name in the schema, or else its role.
std::string argument_name(const store::OperatorUse& use, std::size_t i) {
  if (i < use.argument_names.size() && !use.argument_names[i].empty()) return use.argument_names[i];
  const lanes::Operand& operand = use.operands[i];
  return operand.role == lanes::Role::kUnknown ? "argument " + std::to_string(operand.argument)
                                               : std::string(store::name(operand.role));
}

// The names of floating arguments as the operator's kernel got them, grouped by dtype: bfloat16: input; float32:
// weight, bias.
using ByDtype = std::vector<std::pair<std::uint8_t, std::vector<std::string>>>;
ByDtype arguments_by_dtype(const store::OperatorUse& use) {
  ByDtype all;
  for (std::size_t i = 0; i < use.operands.size(); ++i) {
    if (!is_floating_tensor(use.operands[i])) continue;
    const std::uint8_t dtype = dtype_entered(use.operands[i]);
    auto at = std::ranges::find(all, dtype, &ByDtype::value_type::first);
    if (at == all.end()) at = all.insert(at, {dtype, {}});
    std::string name = argument_name(use, i);
    if (std::ranges::find(at->second, name) == at->second.end()) at->second.push_back(std::move(name));
  }
  return all;
}

// Returns "bfloat16 (input) and float32 (weight, bias)"; or, where the arguments are not known, the dtypes that the
// error's text names.
std::string dtypes_that_met(const store::RunData& data, const ErrorAt& at) {
  const auto and_text = [](std::string* words, const auto& dtype) { *words += store::dtype_name(dtype); };
  if (at.use != 0) {
    const ByDtype met = arguments_by_dtype(data.operator_uses[at.use]);
    if (met.size() > 1)
      return absl::StrJoin(met, " and ", [](std::string* words, const ByDtype::value_type& one) {
        *words += store::dtype_name(one.first);
        *words += " (" + absl::StrJoin(one.second, ", ") + ")";
      });
  }
  const std::set<std::uint8_t> named = dtypes_named(at.text);
  return named.empty() ? "different dtypes" : absl::StrJoin(named, " and ", and_text);
}

std::string_view reason(Why why) {
  switch (why) {
    case Why::kBackward:
      return ": the backward of an operator gets what its forward was given, and what autocast made of it";
    case Why::kScriptBackward:
      return ": in the forward, eager autocast cast what the script has autocast off for, and its graph does not know "
             "of it";
    case Why::kAfterRegion:
      return ", outside of autocast, where nothing casts the result of a region back";
    case Why::kNoRegion:
      return ", outside of autocast, where nothing brings them to one dtype";
    case Why::kDisabled:
      return " where autocast is disabled: nothing brings them to one dtype";
    case Why::kDouble:
      return ": autocast never casts float64";
    case Why::kWrites:
      return ": autocast does not cast what an operator writes to in place";
    case Why::kOut:
      return ": autocast does not cast for a call with out=";
    case Why::kNoKernel:
      return ": autocast of this device leaves the operator alone";
    case Why::kOther:
      return ": autocast does not align the arguments of this operator here";
    case Why::kPolicy:
    case Why::kUnknown:
      return "";
  }
  return "";
}

// Says why the policy, which decides in place of PyTorch's lists, did not cast.
std::string policys_reason(const EnforcedDecisions& enforced, const policy::Decision& decided) {
  if (!decided.never_cast.empty())
    return ": " + enforced.name() + " never casts its " + absl::StrJoin(decided.never_cast, ", ");
  return ": " + enforced.name() + (decided.ruled ? " leaves its arguments as they come" : " has no rule for it");
}

std::string_view fix_for(Why why) {
  switch (why) {
    case Why::kBackward:
      return "Call the forward operator in a nested torch.autocast(device_type, enabled=False), with float32 operands "
             "(x.float()): then its backward gets one dtype.";
    case Why::kNoRegion:
      return "Bring the arguments to one dtype before the call (x = x.to(layer.weight.dtype)), or keep the model in "
             "float32 and call it in a region of torch.autocast.";
    case Why::kAfterRegion:
      return "Bring the result of the region to float32 before it is used outside (out = out.float()), or move this "
             "operator into the region.";
    case Why::kDisabled:
      return "Bring the arguments to float32 at the beginning of the disabled part (x = x.float()): what comes from "
             "the "
             "region around it is still in the region's dtype.";
    case Why::kDouble:
      return "Bring the float64 argument to float32 (x = x.float()) where it is made; autocast casts the rest.";
    case Why::kWrites:
      return "Cast the source to the dtype of what is written to (dst[i] = src.to(dst.dtype)), or make the destination "
             "in the dtype of the region.";
    case Why::kOut:
      return "Call the form that gives back a new tensor, or make the tensor that out= names in the dtype of the "
             "others.";
    case Why::kPolicy:
      return "Bring the arguments to one dtype before the call (y = y.to(x.dtype)), or have the policy cast all of "
             "them "
             "(castscope policy explain tells which of its rules decides).";
    default:
      return "Bring the arguments to one dtype before the call (y = y.to(x.dtype)).";
  }
}

// Adds the operator that made the half among the arguments.
void add_origin_of_half(const store::RunData& data, const ErrorAt& at, Finding& finding) {
  if (at.use == 0) return;
  const store::OperatorUse& use = data.operator_uses[at.use];
  for (const store::Flow& flow : data.flows) {
    if (flow.to != at.use) continue;
    const store::OperatorUse& from = data.operator_uses[flow.from];
    const bool half = std::any_of(use.operands.begin(), use.operands.end(), [&](const lanes::Operand& operand) {
      return operand.argument == flow.argument && is_low(operand.dtype);
    });
    const auto place = data.user_location(from.stack);
    if (!half || !place) continue;
    finding.evidence_text.emplace_back("half_made_by", short_name(from.op) + " at " + place_text(data, *place));
    if (line_of(data, from.stack) != line_of(data, at.stack)) finding.related.push_back(*place);
    return;
  }
}

// Advises according to whether the call stands in a layer of PyTorch's own or in the job's code.
std::string fix_for(const store::RunData& data, const ErrorAt& at, const LeftByScript& left) {
  const std::string around =
      "open the region around the call of the script instead of inside of it, where eager autocast casts every "
      "argument.";
  if (!is_inside_torch(data, at.stack)) {
    const bool optional = left.arguments.find("Optional[") != std::string::npos;
    return (optional ? "Narrow it to a Tensor before the region (assert " + left.names() +
                           " is not None), which the pass "
                           "then casts; or "
                     : "Cast the tensors of " + left.names() + " in the code; or ") +
           around;
  }
  const bool bias = left.names() == "bias";
  return (bias ? "Build the layer with bias=False, which is all it needs before a batch norm; or "
               : "For this layer, ") +
         around;
}

void add_script_finding(Inquiry& inquiry, const ErrorAt& at, const LeftByScript& left) {
  const store::RunData& data = inquiry.data;
  Finding& finding = inquiry.add(at.stack);
  finding.title = left.op + " raised in a script: TorchScript's autocast pass does not cast its " + left.names() +
                  ", so that " + dtypes_that_met(data, at) + " met";
  add_error_evidence(data, at, finding);
  finding.evidence_text.emplace_back("uncast_arguments", left.arguments);
  finding.evidence_text.emplace_back("explanation", "the pass casts arguments of the type Tensor only");
  finding.fix = fix_for(data, at, left);
}

void judge_mismatches(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  const std::map<Line, LeftByScript> scripts = left_by_scripts(data);
  const EnforcedDecisions enforced(data);
  judge_missing_kernels(inquiry);
  for (const ErrorAt& at : errors_about(data, ErrorTopic::kMismatch)) {
    if (raised_by_own_backward(data, at)) continue;
    const auto script = scripts.find(line_of(data, at.stack));
    if (script != scripts.end() && is_for_script(at)) {
      add_script_finding(inquiry, at, script->second);
      continue;
    }
    const store::OperatorUse* const use = at.use == 0 ? nullptr : &data.operator_uses[at.use];
    const Why why = use == nullptr ? Why::kUnknown : why_of(data, enforced, *use);
    Finding& finding = inquiry.add(at.stack);
    const bool backward = why == Why::kBackward || why == Why::kScriptBackward;
    const std::string node = backward ? use->node : "";
    finding.title = operator_of(data, at) + " raised" + (backward ? " in " + (node.empty() ? "backward" : node) : "") +
                    ": it got " + dtypes_that_met(data, at) +
                    (why == Why::kPolicy ? policys_reason(enforced, *enforced.of(*use)) : std::string(reason(why)));
    add_error_evidence(data, at, finding);
    if (!node.empty()) finding.evidence_text.emplace_back("node", node);
    add_origin_of_half(data, at, finding);
    finding.fix = why == Why::kScriptBackward ? call_with_autocast_off(use->device) : std::string(fix_for(why));
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "dtype-mismatch-error",
    .severity = "error",
    .harm = Harm::kError,
    .summary =
        "an operator raised because a tensor of float16 or bfloat16 met another dtype, or because the operator "
        "has no kernel for float16 or bfloat16",
    .thresholds = {},
    .sees = kOperators,
    .explanation =
        {.what = "An operator raised because its arguments have different floating dtypes, one of them "
                 "float16 or bfloat16; or because PyTorch has no kernel of it for these at all.",
         .why =
             "Autocast brings the arguments of the operators on its lists to one dtype. Outside of a "
             "region, in a disabled one, for in-place forms and for float64 nobody does, and most "
             "operators refuse a mixture. In a script, TorchScript's autocast pass casts what has the "
             "type Tensor alone: the bias of nn.Conv2d is an Optional[Tensor], stays float32, and meets "
             "an input in low precision. Operators without a kernel in low precision (fft, linalg.inv) are brought to "
             "float32 by eager autocast, and not by that of a script.",
         .example = R"(import torch

layer, head = torch.nn.Linear(8, 8), torch.nn.Linear(8, 2)
with torch.autocast("cpu", dtype=torch.bfloat16):
    hidden = layer(torch.randn(4, 8))  # bfloat16
try:
    y = head(hidden)  # float32 weight
except RuntimeError as error:
    print(error))",
         .fix = "Cast the result of the region (`hidden.float()`), or move the operator into the region.",
         .fixed_example = R"(import torch

layer, head = torch.nn.Linear(8, 8), torch.nn.Linear(8, 2)
with torch.autocast("cpu", dtype=torch.bfloat16):
    hidden = layer(torch.randn(4, 8))  # bfloat16
y = head(hidden.float()))",
         .links = "https://docs.pytorch.org/docs/stable/amp.html#torch.autocast"},
    .judge = judge_mismatches,
};

}  // namespace castscope::rules::dtype_mismatch_error
