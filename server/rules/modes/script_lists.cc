#include "server/rules/modes/script_lists.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "server/policy/decide.h"
#include "server/policy/load.h"
#include "server/rules/dtypes.h"
#include "server/rules/operators.h"
#include "server/rules/regions.h"
#include "server/rules/uses.h"
#include "server/store/names.h"

namespace castscope::rules {
namespace {

using policy::CastPolicy;
using store::OperatorUse;
using store::RunData;

// Of torch/csrc/jit/passes/autocast.cpp, handleBlock. What it casts to float32 is seen to be cast.
constexpr std::string_view kPromoted[] = {"addcdiv", "addcmul",   "atan2", "bilinear",  "cat", "_cat", "cross", "dot",
                                          "equal",   "index_put", "stack", "tensordot", "add", "sub",  "mul",   "div"};
constexpr std::string_view kLowered[] = {"_convolution",
                                         "_convolution_nogroup",
                                         "conv1d",
                                         "conv2d",
                                         "conv3d",
                                         "conv_tbc",
                                         "conv_transpose1d",
                                         "convolution",
                                         "cudnn_convolution",
                                         "cudnn_convolution_transpose",
                                         "prelu",
                                         "addmm",
                                         "addmv",
                                         "addr",
                                         "matmul",
                                         "mm",
                                         "mv",
                                         "linear",
                                         "addbmm",
                                         "baddbmm",
                                         "bmm",
                                         "_thnn_fused_lstm_cell",
                                         "_thnn_fused_gru_cell",
                                         "lstm_cell",
                                         "gru_cell",
                                         "rnn_tanh_cell",
                                         "rnn_relu_cell"};
constexpr std::string_view kHeld[] = {"native_layer_norm",
                                      "acos",
                                      "asin",
                                      "cosh",
                                      "erfinv",
                                      "exp",
                                      "expm1",
                                      "log",
                                      "log10",
                                      "log2",
                                      "log1p",
                                      "reciprocal",
                                      "rsqrt",
                                      "sinh",
                                      "tan",
                                      "pow",
                                      "softplus",
                                      "gelu",
                                      "layer_norm",
                                      "group_norm",
                                      "frobenius_norm",
                                      "nuclear_norm",
                                      "cosine_similarity",
                                      "cosine_embedding_loss",
                                      "nll_loss",
                                      "nll_loss2d",
                                      "hinge_embedding_loss",
                                      "kl_div",
                                      "l1_loss",
                                      "smooth_l1_loss",
                                      "mse_loss",
                                      "margin_ranking_loss",
                                      "multilabel_margin_loss",
                                      "soft_margin_loss",
                                      "triplet_margin_loss",
                                      "multi_margin_loss",
                                      "binary_cross_entropy_with_logits",
                                      "dist",
                                      "pdist",
                                      "cdist",
                                      "renorm",
                                      "prod",
                                      "softmax",
                                      "log_softmax",
                                      "cumprod",
                                      "cumsum",
                                      "sum"};
constexpr std::string_view kToFloat = "aten::_autocast_to_full_precision";

// What eager's autocast of a device does with an operator.
class EagerLists {
 public:
  CastPolicy of(const OperatorUse& use) {
    const auto& lists = of_device(use.device);
    return lists.has_value() ? policy::decide(*lists, policy::operator_called(use.op)).policy : CastPolicy::kBanned;
  }

 private:
  // TorchScript knows autocast on these two.
  const std::optional<policy::Policy>& of_device(std::uint8_t device) {
    static const std::optional<policy::Policy> kNone;
    const auto [at, fresh] = lists_.try_emplace(device);
    if (!fresh) return at->second;
    const std::string_view name = store::device_name(device);
    if (name != "cpu" && name != "cuda") return kNone;
    if (auto loaded = policy::load("torch-" + std::string(name)); loaded.ok()) at->second = *std::move(loaded);
    return at->second;
  }
  std::map<std::uint8_t, std::optional<policy::Policy>> lists_;
};

bool holds_in_float(CastPolicy policy) {
  return policy == CastPolicy::kFp32 || policy == CastPolicy::kFp32SetOptDtype ||
         policy == CastPolicy::kFp32AppendDtype;
}

bool is_scripted_work(const RunData& data, const OperatorUse& use) {
  return use.is(lanes::kUseScript) && !use.is(lanes::kUseTraced) && is_forward(use) &&
         !use.is(lanes::kUseView | lanes::kUseConverts) && use.op.starts_with("aten::") && in_autocast(data, use);
}

// All that takes part in deciding its dtype is of this one; kNoDtype: not so.
std::uint8_t common_dtype(const OperatorUse& use) {
  std::uint8_t common = kNoDtype;
  for (const lanes::Operand& operand : use.operands) {
    if (!is_floating_tensor(operand) || !has_dimensions(operand)) continue;
    if (common != kNoDtype && operand.dtype != common) return kNoDtype;
    common = operand.dtype;
  }
  return use.operands.size() < lanes::kMostOperands ? common : kNoDtype;
}

struct Raised {
  std::uint8_t low = kNoDtype;
  std::uint64_t times = 0;
};

// Of how many calls it is certain that all arguments had been of one low dtype until the pass raised them: at most as
// many others were there as calls in which one argument came in float32.
Raised raised(const UseGraph& graph, const OperatorUse& use) {
  Raised found{.times = graph.total(use.id).times};
  for (const lanes::Operand& operand : use.operands) {
    if (!is_floating_tensor(operand) || !has_dimensions(operand)) continue;
    std::uint64_t low = 0;
    for (const UseGraph::Edge& edge : graph.into(use.id)) {
      const OperatorUse& cast = graph.use(edge.flow->from);
      if (edge.flow->argument != operand.argument || cast.op != kToFloat || cast.operands.empty()) continue;
      const std::uint8_t from = cast.operands.front().dtype;
      if (!is_low(from) || (found.low != kNoDtype && from != found.low)) continue;
      found.low = from;
      low += edge.times;
    }
    const std::uint64_t others = graph.total(use.id).times - std::min(low, graph.total(use.id).times);
    found.times -= std::min(found.times, others);
  }
  if (found.low == kNoDtype) found.times = 0;
  return found;
}

std::optional<ScriptedOperator> difference_of(const RunData& data, const UseGraph& graph, const OperatorUse& use,
                                              CastPolicy eager) {
  ScriptedOperator found{.use = &use, .times = graph.total(use.id).times};
  const std::string name = short_name(use.op);
  const store::Region* region = enabled_region(data, use);
  const bool own_region = region->kind == lanes::RegionKind::kScript;
  const std::uint8_t given = common_dtype(use);
  if (use.computed == kFloat && given == kFloat && !holds_in_float(eager) && eager != CastPolicy::kBanned) {
    const Raised all = raised(graph, use);
    if (all.times > 0) {
      found.difference = is_one_of(name, kPromoted) ? ListDifference::kPromotes : ListDifference::kRaises;
      found.eager = all.low;
      found.times = all.times;
      return found;
    }
    const bool lowers = eager == CastPolicy::kLowerPrecision || is_made_of_products(use.op);
    if (!own_region || !lowers || is_one_of(name, kLowered) || use.is(lanes::kUseWrites)) return std::nullopt;
    found.difference = ListDifference::kLeavesFloat;
    found.eager = region->dtype;
    return found;
  }
  if (!own_region || !is_low(use.computed) || use.result != use.computed || given != use.computed) return std::nullopt;
  if (!holds_in_float(eager) || is_one_of(name, kHeld) || use.is(lanes::kUseWrites)) return std::nullopt;
  found.difference = ListDifference::kLeavesLow;
  found.eager = kFloat;
  return found;
}

using ByPlace = std::map<Line, std::map<std::string, ScriptedOperator>>;

// What its arguments' casts cost, in all steps.
void add_casts(const RunData& data, ByPlace& found) {
  for (const store::SiteUse& use : data.site_uses) {
    const store::Site& site = data.site(use.site);
    if (site.cause != lanes::Cause::kScript || site.to != kFloat || (site.flags & lanes::kSiteTracing)) continue;
    const auto line = found.find(line_of(data, site.stack));
    if (line == found.end()) continue;
    const auto op = line->second.find(short_name(site.op));
    if (op != line->second.end() && op->second.eager == site.from) op->second.casts += use.counts;
  }
}

}  // namespace

ByPlace scripted_differences(const RunData& data, const UseGraph& graph) {
  EagerLists lists;
  ByPlace found;
  for (const OperatorUse& use : data.operator_uses) {
    if (graph.total(use.id).times == 0 || !is_scripted_work(data, use)) continue;
    const auto one = difference_of(data, graph, use, lists.of(use));
    if (!one.has_value()) continue;
    const auto [at, fresh] = found[line_of(data, use.stack)].try_emplace(short_name(use.op), *one);
    if (!fresh && at->second.difference == one->difference) at->second.times += one->times;
  }
  add_casts(data, found);
  return found;
}

}  // namespace castscope::rules
