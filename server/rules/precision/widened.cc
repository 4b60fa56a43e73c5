#include "server/rules/precision/widened.h"

#include <algorithm>
#include <tuple>

#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/operators/use_graph.h"
#include "server/rules/evidence/operators/uses.h"
#include "server/rules/evidence/places/regions.h"
#include "server/store/run/causes.h"

namespace castscope::rules {
namespace {

// A hand-written normalisation scales by the results of these, with the operators below.
constexpr std::string_view kStatistics[] = {"aten::mean",     "aten::var",  "aten::std",  "aten::var_mean",
                                            "aten::std_mean", "aten::amax", "aten::amin", "aten::max",
                                            "aten::min",      "aten::norm", "aten::sum",  "aten::linalg_vector_norm",
                                            "aten::logsumexp"};
constexpr std::string_view kScalings[] = {"aten::mul",  "aten::mul_", "aten::div",
                                          "aten::div_", "aten::sub",  "aten::sub_"};

// A longer way than this (mean → add eps → sqrt) leads nowhere that matters.
constexpr int kMostSteps = 6;

std::int64_t floating_operands(const store::OperatorUse& use) {
  return std::count_if(use.operands.begin(), use.operands.end(),
                       [](const lanes::Operand& o) { return is_floating(o.dtype) && has_dimensions(o); });
}

// The value was made from a statistic by operators that take nothing else.
bool is_statistic(const UseGraph& graph, store::OperatorUseId id, int steps = kMostSteps) {
  const store::OperatorUse& use = graph.use(id);
  if (is_one_of(base_name(use.op), kStatistics)) return true;
  if (steps == 0 || floating_operands(use) != 1) return false;
  const auto made_by = graph.into(id);
  return std::any_of(made_by.begin(), made_by.end(),
                     [&](const UseGraph::Edge& e) { return is_statistic(graph, e.flow->from, steps - 1); });
}

}  // namespace

const lanes::Operand* wide_operand(const store::OperatorUse& use) {
  for (const lanes::Operand& o : use.operands)
    if (o.dtype == kFloat && has_dimensions(o)) return &o;
  return nullptr;
}

const lanes::Operand* low_operand(const store::OperatorUse& use) {
  for (const lanes::Operand& o : use.operands)
    if (is_low(o.dtype) && has_dimensions(o)) return &o;
  return nullptr;
}

bool scales_by_statistic(const UseGraph& graph, const store::OperatorUse& use, store::OperatorUseId from) {
  if (!is_one_of(base_name(use.op), kScalings)) return false;
  if (from != 0 && floating_operands(use) > 1 && is_statistic(graph, from)) return true;
  const auto made_by = graph.into(use.id);
  return std::any_of(made_by.begin(), made_by.end(), [&](const UseGraph::Edge& e) {
    return e.flow->from != from && is_forward(graph.use(e.flow->from)) && is_statistic(graph, e.flow->from);
  });
}

bool is_cast_down(const UseGraph& graph, const store::Flow& flow) {
  const store::OperatorUse& to = graph.use(flow.to);
  if (flow.cast_to != kNoDtype) return is_low(flow.cast_to);
  return !to.is(lanes::kUseConverts | lanes::kUseWrites | lanes::kUseEligible) && is_low(to.result) &&
         operand_at(to, flow.argument, kFloat) != nullptr && has_dimensions(*operand_at(to, flow.argument, kFloat)) &&
         std::none_of(to.operands.begin(), to.operands.end(), [](const lanes::Operand& o) { return is_low(o.dtype); });
}

Widened follow_widened(const store::RunData& data, const EnforcedDecisions& enforced, const UseGraph& graph,
                       store::OperatorUseId from) {
  Widened way;
  const store::RegionId home = data.outermost(graph.use(from).region);
  std::vector<store::OperatorUseId> open = {from};
  way.uses.insert(from);
  const auto step = [&](const UseGraph::Edge& edge) {
    const store::OperatorUse& to = graph.use(edge.flow->to);
    if (to.phase == lanes::Phase::kBackward || (edge.flow->to == edge.flow->from && !is_low(edge.flow->cast_to)))
      return;
    if (is_cast_down(graph, *edge.flow))
      way.casts_down.push_back({to.id, edge.flow->argument, edge.times});
    else if (to.region == 0 || data.outermost(to.region) != home)
      way.leaves = true;
    else if (to.is(lanes::kUseConverts))
      way.converted = true;
    else if (to.is(lanes::kUseReduces) || to.result != kFloat)
      return;  // a loss or an index does not go on
    else if (!in_autocast(data, to) || enforced.is_held_in_float32(to) ||
             scales_by_statistic(graph, to, edge.flow->from))
      way.held = true;
    else if (way.uses.insert(to.id).second)
      open.push_back(to.id);
  };
  while (!open.empty()) {
    const store::OperatorUseId next = open.back();
    open.pop_back();
    for (const UseGraph::Edge& edge : graph.out_of(next)) step(edge);
  }
  return way;
}

double casting_ns(const store::RunData& data, const UseGraph& graph, const std::vector<CastDown>& casts) {
  std::set<std::tuple<store::StackId, store::RegionId, std::string, std::uint8_t>> wanted;
  for (const CastDown& cast : casts) {
    const store::OperatorUse& use = graph.use(cast.use);
    wanted.emplace(use.stack, use.region, std::string(base_name(use.op)), cast.argument);
  }
  double ns = 0;
  for (const store::SiteUse& use : data.site_uses) {
    const store::Site& site = data.sites[use.site];
    if (!store::is_autocasts(site.cause) || site.call_site == 0 || site.from != kFloat || !is_low(site.to)) continue;
    const auto argument = static_cast<std::uint8_t>(data.call_sites[site.call_site].argument);
    if (wanted.contains({site.stack, site.region, std::string(base_name(site.op)), argument}))
      ns += static_cast<double>(use.counts.cpu_ns);
  }
  return ns;
}

}  // namespace castscope::rules
