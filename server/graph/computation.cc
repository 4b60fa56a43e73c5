#include "server/graph/computation.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "server/rules/evidence/operators/use_graph.h"
#include "server/rules/evidence/operators/uses.h"
#include "server/rules/evidence/places/code_places.h"
#include "server/store/run/causes.h"
#include "server/store/run/names.h"

namespace castscope::graph {
namespace {

using store::OperatorUse;
using store::RunData;

std::string_view base_of(std::string_view op) { return op.substr(0, op.find('.')); }

std::string short_op(std::string_view op) {
  op = base_of(op);
  return std::string(op.starts_with("aten::") ? op.substr(6) : op);
}

Part::Kind kind_of(const OperatorUse& use) {
  if (use.phase == lanes::Phase::kBackward) return Part::Kind::kBackward;
  return use.is(lanes::kUseGradMode) ? Part::Kind::kForward : Part::Kind::kWithoutGradients;
}

// Returns whether the use certainly belongs to the model: it is in a region, or in a module.
bool is_at_heart(const OperatorUse& use) {
  return use.phase == lanes::Phase::kForward || use.phase == lanes::Phase::kBackward || use.module != 0;
}

// Returns for each use whether it is drawn. A loss that is computed after the region is drawn because values of the
// region flow into it.
store::Table<bool, OperatorUse> drawn_uses(const RunData& data, const rules::UseGraph& graph) {
  store::Table<bool, OperatorUse> drawn(data.operator_uses.size());
  std::vector<store::OperatorUseId> waiting;
  const auto draw = [&](store::OperatorUseId use) {
    if (drawn[use] || graph.total(use).times == 0) return;
    drawn[use] = true;
    waiting.push_back(use);
  };
  for (const OperatorUse& use : data.operator_uses)
    if (is_at_heart(use)) draw(use.id);
  while (!waiting.empty()) {
    const store::OperatorUseId use = waiting.back();
    waiting.pop_back();
    const auto beside = [&](store::OperatorUseId other) {
      if (kind_of(graph.use(other)) == kind_of(graph.use(use))) draw(other);
    };
    for (const auto& edge : graph.out_of(use)) beside(edge.flow->to);
    for (const auto& edge : graph.into(use)) beside(edge.flow->from);
  }
  return drawn;
}

using SiteKey = std::tuple<store::StackId, store::ModuleId, std::string_view>;  // … operator

struct SiteCasts {
  const store::Site* site = nullptr;
  std::uint64_t casts = 0, hits = 0;
};

class Sites {
 public:
  explicit Sites(const RunData& data) : data_(data) {
    store::Table<store::Counts, store::Site> counts(data.sites.size());
    for (const store::SiteUse& use : data.site_uses) counts[use.site] += use.counts;
    for (const store::Site& site : data.sites) {
      const store::Counts& seen = counts[site.id];
      if (!store::is_autocasts(site.cause) || !site.has_dtypes() || site.from == site.to || seen.casts + seen.hits == 0)
        continue;
      sites_[{site.stack, site.module, base_of(site.op)}].push_back({&site, seen.casts, seen.hits});
    }
    // Sorts the casts as the operator orders its arguments, whichever was evaluated first.
    for (auto& [key, all] : sites_)
      std::stable_sort(all.begin(), all.end(),
                       [&](const SiteCasts& a, const SiteCasts& b) { return position(*a.site) < position(*b.site); });
  }
  const std::vector<SiteCasts>* of(const OperatorUse& use) const {
    const auto found = sites_.find({use.stack, use.module, base_of(use.op)});
    return found == sites_.end() ? nullptr : &found->second;
  }
  const store::CallSite* call_site(const store::Site& site) const { return data_.call_sites.find(site.call_site); }
  // Returns the name of an operator's argument, where a cast of that argument gave it.
  std::string argument(const OperatorUse& use, std::uint8_t position) const {
    if (const std::vector<SiteCasts>* all = of(use))
      for (const SiteCasts& one : *all)
        if (const store::CallSite* at = call_site(*one.site); at != nullptr && at->argument == position)
          return at->argument_name;
    return "";
  }

 private:
  std::uint32_t position(const store::Site& site) const {
    const store::CallSite* at = call_site(site);
    return at == nullptr ? lanes::kUnknownArgument : at->argument;
  }

  const RunData& data_;
  std::map<SiteKey, std::vector<SiteCasts>> sites_;
};

// The code of the call within its module, however the module was reached; module, operator, backward node, computed
// dtype, result dtype.
using NodeKey = std::tuple<std::string, std::uint32_t, std::string, std::string, int, int>;

NodeKey key_of(const RunData& data, const OperatorUse& use) {
  const std::string code = std::get<2>(rules::spot_of(data, use));
  return {code, use.module, short_op(use.op), use.node, use.computed, use.result};
}

std::string given_text(const OperatorUse& use, const lanes::Operand& operand, const Sites& sites) {
  const std::string name = sites.argument(use, operand.argument);
  const std::string dtype(store::dtype_name(operand.dtype));
  const std::string what = !name.empty()                           ? name
                           : operand.role == lanes::Role::kUnknown ? ""
                                                                   : std::string(store::name(operand.role));
  return what.empty() ? dtype : what + " " + dtype;
}

class Builder {
 public:
  explicit Builder(const RunData& data)
      : data_(data), flows_(data), sites_(data), drawn_(drawn_uses(data, flows_)), place_(data.operator_uses.size()) {}

  std::vector<Part> build() {
    for (const Part::Kind kind : {Part::Kind::kForward, Part::Kind::kBackward, Part::Kind::kWithoutGradients})
      parts_.push_back({.kind = kind, .nodes = {}, .edges = {}});
    for (const OperatorUse& use : data_.operator_uses)
      if (drawn_[use.id]) add_use(use);
    for (const OperatorUse& use : data_.operator_uses)
      if (drawn_[use.id]) add_flows(use);
    for (const OperatorUse& use : data_.operator_uses)
      if (drawn_[use.id]) add_entries(use);
    std::erase_if(parts_, [](const Part& part) { return part.nodes.empty(); });
    return std::move(parts_);
  }

 private:
  Part& part_of(const OperatorUse& use) { return parts_[static_cast<std::size_t>(kind_of(use))]; }

  void add_use(const OperatorUse& use) {
    Part& part = part_of(use);
    const auto [at, fresh] =
        nodes_[static_cast<std::size_t>(part.kind)].try_emplace(key_of(data_, use), part.nodes.size());
    place_[use.id] = at->second;
    if (fresh) part.nodes.push_back(made_of(use));
    part.nodes[at->second].times += flows_.total(use.id).times;
  }

  Node made_of(const OperatorUse& use) {
    Node node{.op = short_op(use.op),
              .node = use.node,
              .module = data_.modules.find(use.module),
              .computed = use.computed,
              .result = use.result,
              .by_code = use.is(lanes::kUseConverts) && use.phase != lanes::Phase::kBackward,
              .at = use.stack == 0 ? std::nullopt : data_.user_location(use.stack),
              .given = {},
              .entries = {}};
    for (const lanes::Operand& operand : use.operands)
      if ((operand.flags & lanes::kOperandNumber) == 0) node.given.push_back(given_text(use, operand, sites_));
    return node;
  }

  // A value that goes round in a loop over time comes back to the node that made it; that edge is not drawn.
  void add_flows(const OperatorUse& use) {
    Part& part = part_of(use);
    for (const auto& [flow, times] : flows_.into(use.id)) {
      const OperatorUse& from = flows_.use(flow->from);
      if (!drawn_[from.id] || kind_of(from) != part.kind || place_[from.id] == place_[use.id]) continue;
      const Edge edge{.from = place_[from.id],
                      .to = place_[use.id],
                      .dtype = from.result,
                      .cast_to = flow->cast_to,
                      .argument = sites_.argument(use, flow->argument),
                      .times = times};
      add_edge(part, edge);
    }
  }

  void add_edge(Part& part, const Edge& edge) {
    const EdgeKey key{static_cast<int>(part.kind), edge.from, edge.to, edge.dtype, edge.cast_to, edge.argument};
    const auto [at, fresh] = edges_.try_emplace(key, part.edges.size());
    if (!fresh) {
      part.edges[at->second].times += edge.times;
      return;
    }
    part.nodes[edge.to].edge_casts += edge.is_cast();
    part.edges.push_back(edge);
  }

  bool comes_by_an_edge(const OperatorUse& use, std::uint32_t argument) const {
    return std::any_of(flows_.into(use.id).begin(), flows_.into(use.id).end(), [&](const auto& edge) {
      return edge.flow->argument == argument && edge.flow->cast_to != kNoDtype && drawn_[edge.flow->from] &&
             kind_of(flows_.use(edge.flow->from)) == kind_of(use);
    });
  }

  void add_entries(const OperatorUse& use) {
    const std::vector<SiteCasts>* sites = sites_.of(use);
    if (sites == nullptr) return add_operands(use);
    for (const SiteCasts& one : *sites) {
      const store::CallSite* at = sites_.call_site(*one.site);
      if (one.site->phase != use.phase || one.site->to != use.computed) continue;
      if (at != nullptr && comes_by_an_edge(use, at->argument)) continue;
      // A site belongs to a stack, and several uses with one stack (but other dtypes) share it.
      if (!taken_.insert({place_[use.id] << 2 | static_cast<std::size_t>(kind_of(use)), one.site->id}).second) continue;
      add_entry(use, {.argument = at == nullptr ? "" : at->argument_name,
                      .role = one.site->role,
                      .from = one.site->from,
                      .to = one.site->to,
                      .casts = one.casts,
                      .hits = one.hits});
    }
  }

  // Adds the casts by the arguments' dtypes where no cast at the operator's own line is known (it is made inside what
  // the operator calls).
  void add_operands(const OperatorUse& use) {
    if (!use.is(lanes::kUseEligible) || use.region == 0 || !data_.regions[use.region].enabled) return;
    for (const lanes::Operand& operand : use.operands) {
      if (!rules::is_floating_tensor(operand) || operand.dtype == rules::kDouble) continue;
      if (operand.dtype == use.computed || use.computed == kNoDtype) continue;
      if (!comes_by_an_edge(use, operand.argument))
        add_entry(use, {.argument = "", .role = operand.role, .from = operand.dtype, .to = use.computed});
    }
  }

  void add_entry(const OperatorUse& use, const EntryCast& entry) {
    std::vector<EntryCast>& entries = part_of(use).nodes[place_[use.id]].entries;
    for (EntryCast& known : entries) {
      if (known.argument != entry.argument || known.role != entry.role || known.from != entry.from ||
          known.to != entry.to)
        continue;
      known.casts += entry.casts;
      known.hits += entry.hits;
      return;
    }
    entries.push_back(entry);
  }

  const RunData& data_;
  const rules::UseGraph flows_;
  const Sites sites_;
  const store::Table<bool, OperatorUse> drawn_;
  store::Table<std::size_t, OperatorUse> place_;  // its node
  std::vector<Part> parts_;
  std::map<NodeKey, std::size_t> nodes_[3];  // by part
  using EdgeKey = std::tuple<int, std::size_t, std::size_t, int, int, std::string>;
  std::map<EdgeKey, std::size_t> edges_;
  std::set<std::pair<std::size_t, std::uint32_t>> taken_;
};

}  // namespace

std::size_t Part::casts() const {
  std::size_t casts = 0;
  for (const Node& node : nodes) casts += node.entries.size() + node.edge_casts;
  return casts;
}

std::vector<Part> parts_of(const RunData& data) { return Builder(data).build(); }

std::string_view title(Part::Kind kind) {
  switch (kind) {
    case Part::Kind::kForward:
      return "forward pass";
    case Part::Kind::kBackward:
      return "backward pass";
    default:
      return "without gradients";
  }
}

std::string short_dtype(std::uint8_t dtype) {
  switch (dtype) {
    case rules::kHalf:
      return "f16";
    case rules::kFloat:
      return "f32";
    case rules::kDouble:
      return "f64";
    case rules::kBrain:
      return "bf16";
    default:
      return dtype == kNoDtype ? "?" : std::string(store::dtype_name(dtype));
  }
}

}  // namespace castscope::graph
