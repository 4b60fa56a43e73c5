// dtype-silent-upcast: in an autocast region an operator is given a low-precision value and a float32 one, so it
// computes in float32, and its result is costly: later operators work in float32, and autocast casts it down again for
// the next matrix product.
//
// Ordinary code mixes both as well, and is left alone: a loss against float32 targets, scores and a float32 mask before
// a softmax, a residual stream between norms (they are float32 on a GPU whatever they are given). So the rule follows
// the value: it must be cast down again, after passing only operators that autocast leaves as they are. Three cases are
// reported without that, as nobody intends them: a float32 bias added to a matrix product; float32 joined by cat or
// where with values that then go on; and a recurrent cell that makes its own float32 state.
//
// Where operators promote one after the other (a residual stream) the rule reports only the first: the others get
// float32 because of it. Of those that promote side by side with one and the same float32 value (queries and keys
// turned by one table) it reports the first, and relates the others. A residual stream (x + block(x)) is no fault of
// precision, nor are tensors that are only joined in float32: their findings are of the severity performance.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <vector>

#include "server/rules/evidence/counts/step_time.h"
#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/matrix_products.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/operators/use_graph.h"
#include "server/rules/evidence/operators/uses.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/evidence/places/regions.h"
#include "server/rules/inquiry/rule.h"
#include "server/rules/precision/positions.h"
#include "server/rules/precision/rotation.h"
#include "server/rules/precision/upcast_fix.h"
#include "server/rules/precision/widened.h"
#include "server/store/run/names.h"

namespace castscope::rules::dtype_silent_upcast {
namespace {

constexpr std::string_view kSums[] = {"aten::add", "aten::add_", "aten::sub", "aten::__radd__", "aten::__iadd__"};
constexpr std::string_view kAdds[] = {"aten::add", "aten::__radd__"};
constexpr std::string_view kJoins[] = {"aten::cat", "aten::stack", "aten::where"};
constexpr std::string_view kFills[] = {"aten::zeros",    "aten::zeros_like", "aten::new_zeros", "aten::full",
                                       "aten::new_full", "aten::full_like",  "aten::ones",      "aten::ones_like",
                                       "aten::zero_",    "aten::fill_",      "aten::new_ones"};

constexpr std::size_t kMostRelated = 5;  // places along the way that a finding names
constexpr std::int64_t kNextLines = 2;   // cos and sin of one value may lie between

bool is_made_by(const UseGraph& graph, store::OperatorUseId use, std::uint8_t argument, auto condition) {
  const auto made_by = graph.into(use);
  return std::any_of(made_by.begin(), made_by.end(), [&](const UseGraph::Edge& e) {
    return e.flow->argument == argument && e.flow->from != use && condition(graph.use(e.flow->from));
  });
}

// The tensor that the operator writes to began as zeros, or the like.
bool adds_up(const UseGraph& graph, store::OperatorUseId id) {
  std::set<store::OperatorUseId> seen = {id};
  std::vector<store::OperatorUseId> open = {id};
  while (!open.empty()) {
    const store::OperatorUseId next = open.back();
    open.pop_back();
    for (const UseGraph::Edge& edge : graph.into(next)) {
      const store::OperatorUse& from = graph.use(edge.flow->from);
      if (edge.flow->argument != 0) continue;
      if (is_one_of(base_name(from.op), kFills)) return true;
      if (from.is(lanes::kUseWrites) && seen.insert(from.id).second) open.push_back(from.id);
    }
  }
  return false;
}

// TorchScript's autocast pass brought the sources of this value to float32: script-dtype-differs reports that, at the
// line where it begins.
bool is_raised_by_script(const UseGraph& graph, store::OperatorUseId use, std::uint8_t argument,
                         std::set<store::OperatorUseId>& seen) {
  return is_made_by(graph, use, argument, [&](const store::OperatorUse& from) {
    if (!from.is(lanes::kUseScript) || from.result != kFloat || !seen.insert(from.id).second) return false;
    return std::ranges::any_of(from.operands, [&](const lanes::Operand& operand) {
      return (is_low(operand.dtype) && operand.entered == kFloat) ||
             (operand.dtype == kFloat && is_raised_by_script(graph, from.id, operand.argument, seen));
    });
  });
}

// The operator promotes: its low-precision operand was computed in the region and not brought along, and its float32
// operand is not a statistic.
bool promotes(const store::RunData& data, const EnforcedDecisions& enforced, const UseGraph& graph,
              const store::OperatorUse& use) {
  if (!is_forward(use) || use.result != kFloat || use.computed != kFloat || use.is(lanes::kUseConverts)) return false;
  const lanes::Operand *low = low_operand(use), *wide = wide_operand(use);
  if (low == nullptr || wide == nullptr || !in_autocast(data, use) || !enforced.promotes_to_widest(use)) return false;
  const bool computed = is_made_by(graph, use.id, low->argument, [](const auto& from) { return is_low(from.result); });
  if (!computed || scales_by_statistic(graph, use)) return false;
  std::set<store::OperatorUseId> seen;
  if (use.is(lanes::kUseScript) && is_raised_by_script(graph, use.id, wide->argument, seen)) return false;
  if (!use.is(lanes::kUseWrites)) return true;
  // `sum += low`: it is good practice to add up in float32. A stream (x += block(x)) is recognised only by the operator
  // that made it.
  return is_made_by(graph, use.id, 0, [](const auto& from) { return from.result == kFloat; }) &&
         !adds_up(graph, use.id);
}

// Autocast cast the matrix products of a recurrent cell, and the cell's result is float32 all the same, because PyTorch
// made a float32 state when none was given.
bool makes_wide_state(const store::RunData& data, const UseGraph& graph, const store::OperatorUse& use) {
  if (!is_forward(use) || use.result != kFloat || use.is(lanes::kUseEligible | lanes::kUseConverts)) return false;
  if (!in_autocast(data, use) || low_operand(use) != nullptr) return false;
  const auto made_by = graph.into(use.id);
  const bool own_state = std::any_of(made_by.begin(), made_by.end(), [&](const UseGraph::Edge& e) {
    const store::OperatorUse& from = graph.use(e.flow->from);
    return is_one_of(base_name(from.op), kFills) && from.result == kFloat && is_inside_torch(data, from.stack);
  });
  if (!own_state) return false;
  return std::any_of(data.sites.begin(), data.sites.end(), [&](const store::Site& site) {
    return site.stack == use.stack && site.region == use.region && site.cause == lanes::Cause::kAutocast &&
           is_low(site.to) && site.op != use.op && !site.pass_through();
  });
}

struct Promotion {  // at one line
  std::vector<store::OperatorUseId> uses;
  Widened way;
  std::uint64_t times = 0;  // with a float32 operand that no promotion made
  bool state = false;
};
using Promotions = std::map<Line, Promotion>;

// Returns whether the line is a finding, though nothing is cast down again.
bool is_meant_by_nobody(const UseGraph& graph, const Promotion& promotion) {
  if (promotion.state) return true;
  if (promotion.way.held || promotion.way.converted || promotion.way.leaves) return false;
  return std::any_of(promotion.uses.begin(), promotion.uses.end(), [&](store::OperatorUseId id) {
    const store::OperatorUse& use = graph.use(id);
    const lanes::Operand* wide = wide_operand(use);
    const auto is_product = [](const auto& from) {
      return from.op.starts_with("aten::") &&
             (is_matrix_product(short_name(from.op)) || short_name(from.op) == "einsum");
    };
    if (is_one_of(base_name(use.op), kAdds))
      return wide->role != lanes::Role::kActivation && is_made_by(graph, id, low_operand(use)->argument, is_product);
    return is_one_of(base_name(use.op), kJoins) && promotion.way.uses.size() > promotion.uses.size();
  });
}

void merge_ways(Widened& into, Widened way) {
  into.uses.merge(way.uses);
  for (const CastDown& cast : way.casts_down) {
    const auto same = [&](const CastDown& c) { return c.use == cast.use && c.argument == cast.argument; };
    if (std::none_of(into.casts_down.begin(), into.casts_down.end(), same)) into.casts_down.push_back(cast);
  }
  into.held |= way.held, into.converted |= way.converted, into.leaves |= way.leaves;
}

Promotions find(const store::RunData& data, const UseGraph& graph) {
  Promotions promotions;
  const EnforcedDecisions enforced(data);
  for (const store::OperatorUse& use : data.operator_uses) {
    if (graph.total(use.id).times == 0) continue;
    const bool state = makes_wide_state(data, graph, use);
    if (!state && (!promotes(data, enforced, graph, use) || rotates(enforced, graph, use))) continue;
    Promotion& promotion = promotions[line_of(data, use.stack)];
    promotion.uses.push_back(use.id);
    promotion.state |= state;
    merge_ways(promotion.way, follow_widened(data, enforced, graph, use.id));
  }
  return promotions;
}

// Returns how often one of the promotion's uses was called with a float32 value that neither it nor another promotion
// made.
std::uint64_t times_of_its_own(const UseGraph& graph, const Promotion& promotion, const Promotions& all) {
  std::uint64_t times = 0;
  for (const store::OperatorUseId id : promotion.uses) {
    std::map<std::uint8_t, std::uint64_t> brought;  // by argument
    for (const UseGraph::Edge& edge : graph.into(id)) {
      const store::OperatorUseId from = edge.flow->from;
      const auto made_here = [&](const auto& one) { return one.second.way.uses.contains(from); };
      if (graph.use(from).result == kFloat && std::any_of(all.begin(), all.end(), made_here))
        brought[edge.flow->argument] += edge.times;
    }
    std::uint64_t most = 0;
    for (const auto& [argument, count] : brought) most = std::max(most, count);
    times += graph.total(id).times - std::min(most, graph.total(id).times);
  }
  return times;
}

std::string_view cause_of(const store::OperatorUse& use) {
  const lanes::Operand* wide = wide_operand(use);
  switch (wide == nullptr ? lanes::Role::kUnknown : wide->role) {
    case lanes::Role::kWeight:
      return "a float32 parameter";
    case lanes::Role::kBuffer:
      return "a float32 buffer";
    case lanes::Role::kInput:
      return "a float32 input";
    default:
      return "a float32 value";
  }
}

// x + block(x): what the sum takes in low precision was computed from what it takes in float32. Such a stream loses
// nothing. It only costs casts, and the memory of float32.
bool is_residual_stream(const UseGraph& graph, const Promotion& promotion) {
  return !promotion.state && std::ranges::all_of(promotion.uses, [&](store::OperatorUseId id) {
    const store::OperatorUse& use = graph.use(id);
    const lanes::Operand *wide = wide_operand(use), *low = low_operand(use);
    if (!is_one_of(base_name(use.op), kSums) || wide == nullptr || low == nullptr) return false;
    if (wide->role != lanes::Role::kActivation && wide->role != lanes::Role::kInput) return false;
    std::set<store::OperatorUseId> seen, wanted;
    std::vector<store::OperatorUseId> open;
    for (const UseGraph::Edge& edge : graph.into(id)) {
      if (edge.flow->argument == wide->argument) wanted.insert(edge.flow->from);
      if (edge.flow->argument == low->argument) open.push_back(edge.flow->from);
    }
    wanted.insert(id);  // the next block's sum takes the result of this one
    while (!open.empty()) {
      const store::OperatorUseId next = open.back();
      open.pop_back();
      if (wanted.contains(next)) return true;
      if (!seen.insert(next).second || !is_forward(graph.use(next))) continue;
      for (const UseGraph::Edge& edge : graph.into(next)) open.push_back(edge.flow->from);
    }
    return false;
  });
}

// Tensors are joined (a cache of keys and values), and what comes of it is cast down as it is: nothing computes with it
// in float32, and each value is what it was.
bool is_only_joined(const UseGraph& graph, const Promotion& promotion) {
  const Widened& way = promotion.way;
  if (promotion.state || way.held || way.converted || way.leaves || way.casts_down.empty()) return false;
  return std::ranges::all_of(way.uses, [&](store::OperatorUseId id) {
    const std::string_view op = base_name(graph.use(id).op);
    return op == "aten::cat" || op == "aten::stack";
  });
}

void add_finding(Inquiry& inquiry, const UseGraph& graph, const Promotions& all, const Promotion& promotion) {
  const store::RunData& data = inquiry.data;
  const store::OperatorUse& use = graph.use(promotion.uses.front());
  const Widened& way = promotion.way;
  const bool stream = is_residual_stream(graph, promotion);
  const bool only_slow = stream || is_only_joined(graph, promotion);
  Finding& finding = only_slow ? inquiry.add(use.stack, "performance") : inquiry.add(use.stack);
  const std::string low(
      store::dtype_name(promotion.state ? enabled_region(data, use)->dtype : low_operand(use)->dtype));
  const std::string op(short_name(use.op));
  finding.title = promotion.state
                      ? op + " gives back float32 though it computes in " + low + ", because of its own initial state"
                      : op + (stream ? " keeps a residual stream in float32" : " gives back float32") + ", because " +
                            std::string(cause_of(use)) + " meets a " + low + " value";
  std::uint64_t times = 0, bytes = 0, casts = 0;
  double ns = 0;
  for (const store::OperatorUseId id : promotion.uses) times += graph.total(id).times;
  for (const store::OperatorUseId id : way.uses)
    bytes += graph.total(id).bytes, ns += static_cast<double>(graph.total(id).ns);
  for (const CastDown& cast : way.casts_down) casts += cast.times;
  finding.evidence_number = {{"calls", times},
                             {"float32_operators", way.uses.size()},
                             {"float32_bytes", bytes},
                             {"float32_ns", static_cast<std::int64_t>(ns)},
                             {"casts_down", casts}};
  finding.evidence_text = {{"operator", use.op}, {"low_dtype", low}};
  if (!promotion.state) finding.evidence_text.emplace_back("float32_operand", store::name(wide_operand(use)->role));
  for (const CastDown& cast : way.casts_down) {
    const Line at = line_of(data, graph.use(cast.use).stack);
    if (cast.use == way.casts_down.front().use)
      finding.evidence_text.emplace_back("cast_down_at", place_text(data, at) + " (" + graph.use(cast.use).op + ")");
  }
  // The consequences along the way.
  std::map<Line, store::OperatorUseId> places;
  for (const auto& [line, other] : all)
    if (&other != &promotion && way.uses.contains(other.uses.front())) places.emplace(line, other.uses.front());
  for (const CastDown& cast : way.casts_down) places.emplace(line_of(data, graph.use(cast.use).stack), cast.use);
  places.erase(line_of(data, use.stack));
  for (const auto& [line, id] : places)
    if (finding.related.size() < kMostRelated) add_related(finding, data, graph.use(id).stack);
  finding.deep_only = true;
  finding.savings = saved_per_step(data, casting_ns(data, graph, way.casts_down));
  finding.fix = stream ? fix_of_stream() : promotion.state ? fix_of_state() : fix_of_upcast(data, graph, use);
}

// Returns the uses from which the float32 operand ultimately comes, through operators in float32.
std::set<store::OperatorUseId> wide_roots(const UseGraph& graph, const store::OperatorUse& use) {
  std::set<store::OperatorUseId> roots, seen;
  std::vector<store::OperatorUseId> open = {use.id};
  while (!open.empty()) {
    const store::OperatorUseId next = open.back();
    open.pop_back();
    if (!seen.insert(next).second) continue;
    bool any = false;
    for (const UseGraph::Edge& edge : graph.into(next)) {
      if (graph.use(edge.flow->from).result != kFloat) continue;
      any = true;
      open.push_back(edge.flow->from);
    }
    if (!any && next != use.id) roots.insert(next);
  }
  return roots;
}

// Two promotions have one cause when they are in the same function and have the same float32 value. Where nobody knows
// which operator made that value, promotions within the next lines count as the same, unless the values are parameters.
bool have_one_cause(const store::RunData& data, const UseGraph& graph, const Promotion& a, const Promotion& b) {
  if (a.state || b.state) return false;
  const store::OperatorUse &first = graph.use(a.uses.front()), &other = graph.use(b.uses.front());
  const auto at = data.user_location(first.stack), next = data.user_location(other.stack);
  if (!at || !next || at->file != next->file || at->function != next->function) return false;
  if (base_name(first.op) != base_name(other.op) || wide_operand(first)->role != wide_operand(other)->role)
    return false;
  const std::set<store::OperatorUseId> roots = wide_roots(graph, first);
  if (!roots.empty()) return roots == wide_roots(graph, other);
  return wide_operand(first)->role != lanes::Role::kWeight && std::abs(at->line - next->line) <= kNextLines;
}

// The low-precision value holds integers that it cannot tell apart: dtype-position-loss reports that where it was made.
bool meets_rounded_integers(const UseGraph& graph, const Promotion& promotion,
                            const std::set<store::OperatorUseId>& rounding) {
  return !promotion.state && std::ranges::any_of(promotion.uses, [&](store::OperatorUseId id) {
    return is_made_by(graph, id, low_operand(graph.use(id))->argument,
                      [&](const store::OperatorUse& from) { return rounding.contains(from.id); });
  });
}

void judge_upcasts(Inquiry& inquiry) {
  const UseGraph graph(inquiry.data);
  const std::set<store::OperatorUseId> rounding = uses_that_round_integers(inquiry.data, graph);
  std::vector<Promotion> told;
  const Promotions promotions = find(inquiry.data, graph);
  for (const auto& [line, promotion] : promotions) {
    if (promotion.way.casts_down.empty() && !is_meant_by_nobody(graph, promotion)) continue;
    if (!promotion.state && times_of_its_own(graph, promotion, promotions) == 0) continue;
    if (meets_rounded_integers(graph, promotion, rounding)) continue;
    const auto same = std::find_if(told.begin(), told.end(), [&](const Promotion& one) {
      return have_one_cause(inquiry.data, graph, one, promotion);
    });
    if (same == told.end()) {
      told.push_back(promotion);
    } else {
      same->uses.insert(same->uses.end(), promotion.uses.begin(), promotion.uses.end());
      merge_ways(same->way, promotion.way);
    }
  }
  for (const Promotion& promotion : told) add_finding(inquiry, graph, promotions, promotion);
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "dtype-silent-upcast",
    .severity = "warning",
    .harm = Harm::kTime,
    .summary = "a float32 operand makes a low-precision stream float32 from there on",
    .thresholds = {},
    .sees = kOperators,
    .explanation = {.what = "In an autocast region an operator gets a low-precision value and a float32 one, computes "
                            "in float32 by PyTorch's promotion, and its result goes on as float32 until autocast "
                            "casts it down for the next matrix product.",
                    .why = "Nobody asked for float32 there: the values have been rounded already, the operators work "
                           "on twice the bytes, and each matrix product that follows pays for another cast.",
                    .example = R"(import torch

weight, bias = torch.nn.Parameter(torch.randn(64, 64)), torch.nn.Parameter(torch.randn(64))
head = torch.nn.Linear(64, 64)
with torch.autocast("cpu", dtype=torch.bfloat16):
    h = torch.randn(8, 64) @ weight + bias  # bfloat16 + float32: float32
    y = head(torch.relu(h)))",
                    .fix = "Bring the float32 operand to the stream's dtype (`bias.to(h.dtype)`), or let an operator "
                           "that autocast casts as a whole take it (`F.linear(x, weight, bias)`).",
                    .fixed_example = R"(import torch

weight, bias = torch.nn.Parameter(torch.randn(64, 64)), torch.nn.Parameter(torch.randn(64))
head = torch.nn.Linear(64, 64)
with torch.autocast("cpu", dtype=torch.bfloat16):
    h = torch.addmm(bias, torch.randn(8, 64), weight)  # bfloat16
    y = head(torch.relu(h)))",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html#autocast-op-reference\n"
                             "https://docs.pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc"},
    .judge = judge_upcasts,
};

}  // namespace castscope::rules::dtype_silent_upcast
