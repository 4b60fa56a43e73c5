#include "server/rules/modes/script/script_lists.h"

#include <algorithm>
#include <optional>
#include <set>

#include "server/policy/decide.h"
#include "server/policy/load.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/operators/script_autocast.h"
#include "server/rules/evidence/operators/uses.h"
#include "server/rules/evidence/places/regions.h"
#include "server/store/run/names.h"

namespace castscope::rules {
namespace {

using policy::CastPolicy;
using store::OperatorUse;
using store::RunData;

// Looks up how eager autocast of a device treats an operator.
class EagerLists {
 public:
  CastPolicy of(const OperatorUse& use) {
    const auto& lists = of_device(use.device);
    return lists.has_value() ? policy::decide(*lists, policy::operator_called(use.op)).policy : CastPolicy::kBanned;
  }

 private:
  // TorchScript has autocast for these two devices.
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

// Returns the dtype that all operands share which take part in deciding the operator's dtype, before autocast or after
// it; kNoDtype when they share none.
template <typename DtypeOf>
std::uint8_t common_dtype(const OperatorUse& use, DtypeOf dtype_of) {
  std::uint8_t common = kNoDtype;
  for (const lanes::Operand& operand : use.operands) {
    if (!is_floating_tensor(operand) || !has_dimensions(operand)) continue;
    if (common != kNoDtype && dtype_of(operand) != common) return kNoDtype;
    common = dtype_of(operand);
  }
  return use.operands.size() < lanes::kMostOperands ? common : kNoDtype;
}

// The pass cast all of those operands to float32.
bool is_raised(const OperatorUse& use) {
  return std::ranges::all_of(use.operands, [](const lanes::Operand& operand) {
    return !is_floating_tensor(operand) || !has_dimensions(operand) || operand.entered == kFloat;
  });
}

std::optional<ScriptedOperator> difference_of(const RunData& data, const UseGraph& graph, const OperatorUse& use,
                                              CastPolicy eager) {
  ScriptedOperator found{.use = &use, .times = graph.total(use.id).times};
  const ScriptPolicy script = script_policy(use.op);
  const store::Region* region = enabled_region(data, use);
  const bool own_region = region->kind == lanes::RegionKind::kScript;
  const std::uint8_t given = common_dtype(use, [](const lanes::Operand& operand) { return operand.dtype; });
  const std::uint8_t entered = common_dtype(use, dtype_entered);
  if (use.computed == kFloat && is_low(given) && is_raised(use) && !holds_in_float(eager) &&
      eager != CastPolicy::kBanned) {
    found.difference = script == ScriptPolicy::kPromotes ? ListDifference::kPromotes : ListDifference::kRaises;
    found.eager = given;
    return found;
  }
  if (!own_region || use.is(lanes::kUseWrites)) return std::nullopt;
  const bool lowers = eager == CastPolicy::kLowerPrecision || is_made_of_products(use.op);
  if (use.computed == kFloat && given == kFloat && lowers && script != ScriptPolicy::kLowers) {
    found.difference = ListDifference::kLeavesFloat;
    found.eager = region->dtype;
    return found;
  }
  const bool stays_low = is_low(use.computed) && use.result == use.computed && entered == use.computed;
  if (!stays_low || !holds_in_float(eager) || script == ScriptPolicy::kHolds) return std::nullopt;
  found.difference = ListDifference::kLeavesLow;
  found.eager = kFloat;
  return found;
}

using ByPlace = std::map<Line, std::map<std::string, ScriptedOperator>>;

// Adds the cost of the arguments' casts, over all steps.
void add_casts(const RunData& data, ByPlace& found) {
  for (const store::SiteUse& use : data.site_uses) {
    const store::Site& site = data.sites[use.site];
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
