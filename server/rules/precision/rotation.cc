#include "server/rules/precision/rotation.h"

#include <algorithm>
#include <set>
#include <vector>

#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/precision/widened.h"

namespace castscope::rules {
namespace {

using Uses = std::set<store::OperatorUseId>;

constexpr std::string_view kJoining[] = {"aten::add", "aten::sub", "aten::add_", "aten::sub_"};

// Autocast cast for the operator, so that its result is a value of its own: a matrix product.
bool is_cast_for(const EnforcedDecisions& enforced, const store::OperatorUse& use) {
  return use.is(lanes::kUseEligible) && !enforced.promotes_to_widest(use);
}

void add_low_producers(const UseGraph& graph, store::OperatorUseId id, Uses& producers) {
  for (const UseGraph::Edge& edge : graph.into(id))
    if (is_low(graph.use(edge.flow->from).result)) producers.insert(edge.flow->from);
}

// Returns the uses that the low-precision result of this one goes back to: matrix products, uses of which nobody knows
// where their values come from, and those of `known`, which are followed no further.
Uses low_sources(const EnforcedDecisions& enforced, const UseGraph& graph, store::OperatorUseId id,
                 const Uses& known = {}) {
  if (is_cast_for(enforced, graph.use(id))) return {id};
  Uses sources, seen = {id};
  std::vector<store::OperatorUseId> open = {id};
  while (!open.empty()) {
    const store::OperatorUseId next = open.back();
    open.pop_back();
    Uses producers;
    add_low_producers(graph, next, producers);
    if (producers.empty()) sources.insert(next);
    for (const store::OperatorUseId from : producers) {
      if (from != id && (known.contains(from) || is_cast_for(enforced, graph.use(from))))
        sources.insert(from);
      else if (seen.insert(from).second)
        open.push_back(from);
    }
  }
  return sources;
}

// Both products have factors that go back to one matrix product.
bool have_one_source(const EnforcedDecisions& enforced, const UseGraph& graph, const Uses& factors) {
  Uses sources;
  for (const store::OperatorUseId factor : factors) sources.merge(low_sources(enforced, graph, factor));
  return sources.size() == 1;
}

// The factors are one value, and what was made of that value alone (its halves, one of them negated). Where the
// products of several values stand on one line and are one use (queries and keys), something was made of each.
bool turn_what_they_keep(const EnforcedDecisions& enforced, const UseGraph& graph, const Uses& factors) {
  Uses kept, turned;
  for (const store::OperatorUseId factor : factors) {
    Uses sources = low_sources(enforced, graph, factor, factors);
    if (!std::ranges::includes(factors, sources) || sources.contains(factor))
      kept.insert(factor);
    else
      turned.merge(sources);
  }
  return kept.size() == 1 || (!kept.empty() && std::ranges::includes(turned, kept));
}

}  // namespace

bool rotates(const EnforcedDecisions& enforced, const UseGraph& graph, const store::OperatorUse& use) {
  if (base_name(use.op) != "aten::mul") return false;
  for (const UseGraph::Edge& out : graph.out_of(use.id)) {
    if (!is_one_of(base_name(graph.use(out.flow->to).op), kJoining)) continue;
    for (const UseGraph::Edge& in : graph.into(out.flow->to)) {
      const store::OperatorUse& other = graph.use(in.flow->from);
      if (in.flow->argument == out.flow->argument || base_name(other.op) != "aten::mul") continue;
      if (low_operand(other) == nullptr || wide_operand(other) == nullptr) continue;
      Uses factors, of_other;
      add_low_producers(graph, use.id, factors);
      add_low_producers(graph, other.id, of_other);
      if (factors.empty() || of_other.empty()) continue;
      factors.merge(of_other);
      if (have_one_source(enforced, graph, factors) || turn_what_they_keep(enforced, graph, factors)) return true;
    }
  }
  return false;
}

}  // namespace castscope::rules
