// op-not-listed: in a region an operator that autocast does not know on any device got arguments of different dtypes,
// one of which autocast had made: nothing brings them to one dtype. The finding is an error when the operator raised,
// and a warning when an operator of another library accepted the mixed dtypes. (PyTorch's own operators then promote,
// which is another matter.)
#include <map>

#include "server/rules/evidence/error_facts.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/enforced_decisions.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/operators/use_graph.h"
#include "server/rules/evidence/operators/uses.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/evidence/places/regions.h"
#include "server/rules/inquiry/rule.h"
#include "server/store/run/names.h"

namespace castscope::rules::op_not_listed {
namespace {

// PyTorch's own namespaces: parts of its machinery that take tensors of all dtypes side by side.
constexpr std::string_view kMachinery[] = {"aten",
                                           "prims",
                                           "prim",
                                           "c10d",
                                           "_c10d_functional",
                                           "_c10d_functional_autograd",
                                           "c10d_functional",
                                           "fsdp",
                                           "symm_mem",
                                           "profiler",
                                           "inductor",
                                           "quantized",
                                           "_quantized",
                                           "quantized_decomposed",
                                           "mkldnn",
                                           "onednn",
                                           "_dtensor",
                                           "dtensor",
                                           "rngprims",
                                           "bucketing"};

// nn.TransformerEncoderLayer and nn.MultiheadAttention become these in inference.
constexpr std::string_view kFastPaths[] = {"_transformer_encoder_layer_fwd", "_native_multi_head_attention"};

bool is_of_a_library(std::string_view op) { return !is_one_of(op.substr(0, op.find(':')), kMachinery); }

// Where a policy is enforced, its rules are the list.
bool is_unknown_to_autocast(const store::RunData& data, const EnforcedDecisions& enforced,
                            const store::OperatorUse& use) {
  if (!is_on_no_list(use) || !is_forward(use) || !in_autocast(data, use)) return false;
  const policy::Decision* const decided = enforced.of(use);
  return decided == nullptr || !decided->ruled;
}

// Returns "on none of autocast's lists".
std::string where_it_is_not(const EnforcedDecisions& enforced, const store::OperatorUse& use) {
  return enforced.of(use) == nullptr ? "on none of autocast's lists" : "in no rule of " + enforced.name();
}

std::string how_to_list(const EnforcedDecisions& enforced, const store::OperatorUse& use) {
  const std::string name(base_name(use.op));
  if (enforced.of(use) != nullptr)
    return "Name the operator in the policy (\"operators\": {\"lower_precision_fp\": [\"" + name + "\"]})";
  return "Register the operator with autocast (torch.library.register_autocast(\"" + name + "\", device, dtype))";
}

// Returns the argument that holds places in an image in float32 beside features in low precision. If the operator were
// listed, autocast would cast the places too, which loses some of them (policy-protected-arg-cast).
const lanes::Operand* places_in_float(const store::OperatorUse& use) {
  for (const lanes::Operand& operand : use.operands)
    if ((operand.flags & lanes::kOperandBoxes) != 0 && operand.dtype == kFloat) return &operand;
  return nullptr;
}

std::string fix_with_places(const EnforcedDecisions& enforced, const store::OperatorUse& use,
                            const lanes::Operand& places) {
  const std::size_t at = static_cast<std::size_t>(&places - use.operands.data());
  const std::string name(base_name(use.op)),
      argument = at < use.argument_names.size() && !use.argument_names[at].empty() ? use.argument_names[at] : "boxes";
  const std::string in_float = "Bring the features to float32 before the call (x.float())";
  if (enforced.of(use) == nullptr)
    return in_float + ": registered with autocast, the operator would have all floating arguments cast, " + argument +
           " too, and places in an image need float32.";
  return in_float + "; or name the operator in the policy, and " + argument +
         " under its never_cast (\"never_cast\": {\"" + name + "\": [\"" + argument +
         "\"]}): else they would be cast too, and places in an image need float32.";
}

std::string arguments_of(const store::OperatorUse& use) {
  std::vector<lanes::Operand> floating = use.operands;
  std::erase_if(floating, [](const lanes::Operand& operand) { return !is_floating(operand.dtype); });
  return words_of(floating);
}

void judge_errors(Inquiry& inquiry, const EnforcedDecisions& enforced, std::map<Line, bool>& told) {
  for (const ErrorAt& at : errors_about(inquiry.data, ErrorTopic::kNotListed)) {
    const store::OperatorUse& use = inquiry.data.operator_uses[at.use];
    told[line_of(inquiry.data, at.stack)] = true;
    Finding& finding = inquiry.add(at.stack, "error");
    const bool fast_path = is_one_of(short_name(use.op), kFastPaths);
    finding.title = short_name(use.op) + " raised in a region: it is " + where_it_is_not(enforced, use) +
                    (fast_path ? ", and what it calls is cast here and there"
                               : ", so " + arguments_of(use) + " reached it as they are");
    add_error_evidence(inquiry.data, at, finding);
    finding.fix =
        fast_path ? "Switch the fast path of nn.TransformerEncoder and nn.MultiheadAttention off: "
                    "torch.backends.mha.set_fastpath_enabled(False)."
        : use.op.starts_with("aten::")
            ? "Bring the arguments to one dtype before the call (w = w.to(x.dtype)): autocast leaves this operator "
              "alone."
        : places_in_float(use) != nullptr
            ? fix_with_places(enforced, use, *places_in_float(use))
            : how_to_list(enforced, use) + ", or bring the arguments to one dtype before the call.";
  }
}

struct Group {
  store::OperatorUseId use = {};
  std::uint64_t times = 0;
};

void judge_mixtures(Inquiry& inquiry, const EnforcedDecisions& enforced, const std::map<Line, bool>& told) {
  const store::RunData& data = inquiry.data;
  const UseGraph graph(data);
  std::map<Line, Group> groups;
  for (const store::OperatorUse& use : data.operator_uses) {
    const std::uint64_t times = graph.total(use.id).times;
    if (times == 0 || !is_of_a_library(use.op) || !mixes_halves(use)) continue;
    if (!is_unknown_to_autocast(data, enforced, use)) continue;
    const Line line = line_of(data, use.stack);
    if (told.contains(line)) continue;
    Group& group = groups[line];
    if (group.use == 0) group.use = use.id;
    group.times += times;
  }
  for (const auto& [line, group] : groups) {
    const store::OperatorUse& use = data.operator_uses[group.use];
    const std::string low(store::dtype_name(enabled_region(data, use)->dtype));
    Finding& finding = inquiry.add(use.stack);
    finding.title =
        short_name(use.op) + " is " + where_it_is_not(enforced, use) + " and got " + arguments_of(use) + " as they are";
    finding.evidence_number = {{"calls", group.times}};
    finding.evidence_text = {{"operator", use.op}, {"argument_dtypes", arguments_of(use)}, {"region_dtype", low}};
    finding.deep_only = true;
    const lanes::Operand* const places = places_in_float(use);
    finding.fix = places != nullptr ? fix_with_places(enforced, use, *places)
                                    : how_to_list(enforced, use) +
                                          ", so that its arguments come in one dtype; or cast them before the call.";
    finding.fix += " If it is made for this mixture, ignore the rule here.";
  }
}

void judge_unlisted_operators(Inquiry& inquiry) {
  const EnforcedDecisions enforced(inquiry.data);
  std::map<Line, bool> told;
  judge_errors(inquiry, enforced, told);
  judge_mixtures(inquiry, enforced, told);
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "op-not-listed",
    .severity = "warning",
    .harm = Harm::kError,
    .summary = "an operator that autocast does not know got arguments of different dtypes",
    .thresholds = {},
    .sees = kOperators,
    .explanation = {.what = "In a region an operator that is on none of autocast's lists got a half and another "
                            "floating dtype together. Where it raised, the finding is an error.",
                    .why = "Autocast aligns the arguments of the operators that it knows. To any other they go as they "
                           "are: what an earlier operator gave in the region's dtype, weights in float32. A kernel "
                           "that does not check may read one as the other.",
                    .example = R"(import torch

@torch.library.custom_op("example::scale_rows", mutates_args=())
def scale_rows(x: torch.Tensor, by: torch.Tensor) -> torch.Tensor:
    return x * by

layer, by = torch.nn.Linear(8, 8), torch.ones(8)
with torch.autocast("cpu", dtype=torch.bfloat16):
    y = scale_rows(layer(torch.randn(4, 8)), by)  # bfloat16 and float32)",
                    .fix = "`torch.library.register_autocast(\"example::scale_rows\", \"cpu\", torch.bfloat16)`, or a "
                           "cast before the call.",
                    .fixed_example = R"(import torch

@torch.library.custom_op("example::scale_rows", mutates_args=())
def scale_rows(x: torch.Tensor, by: torch.Tensor) -> torch.Tensor:
    return x * by

torch.library.register_autocast("example::scale_rows", "cpu", torch.bfloat16)
layer, by = torch.nn.Linear(8, 8), torch.ones(8)
with torch.autocast("cpu", dtype=torch.bfloat16):
    y = scale_rows(layer(torch.randn(4, 8)), by)  # bfloat16 and bfloat16)",
                    .links = "https://docs.pytorch.org/docs/stable/library.html#torch.library.register_autocast"},
    .judge = judge_unlisted_operators,
};

}  // namespace castscope::rules::op_not_listed
