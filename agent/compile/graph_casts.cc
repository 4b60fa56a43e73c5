#include "agent/compile/graph_casts.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

namespace castscope::compile {
namespace {

using Users = std::vector<std::vector<std::uint32_t>>;  // the users of each node

Users users_of(const std::vector<Node>& graph) {
  Users users(graph.size());
  for (std::uint32_t i = 0; i < graph.size(); ++i)
    for (const std::uint32_t input : graph[i].inputs) users[input].push_back(i);
  return users;
}

bool multiplies(std::string_view op) {
  constexpr std::array kProducts = {"mm", "bmm", "addmm", "baddbmm", "addbmm", "convolution", "mv", "addmv", "dot"};
  if (!op.starts_with("aten::")) return false;
  const std::string_view name = op.substr(6);
  return std::ranges::find(kProducts, name) != kProducts.end() || name.find("scaled_dot_product") != name.npos ||
         name.find("lstm") != name.npos || name.find("gru") != name.npos;
}

bool rearranges(std::string_view op) {
  constexpr std::array kViews = {"permute", "t",      "transpose", "view",  "reshape", "_unsafe_view", "expand",
                                 "squeeze", "select", "unsqueeze", "clone", "slice",   "as_strided",   "alias"};
  return op.starts_with("aten::") && std::ranges::find(kViews, op.substr(6)) != kViews.end();
}

// Whether a product of the same line uses the node's result, directly or through operators that only rearrange it.
bool feeds_product(const std::vector<Node>& graph, const Users& users, std::uint32_t node, int most = 8) {
  return std::ranges::any_of(users[node], [&](std::uint32_t user) {
    const Node& next = graph[user];
    if (multiplies(next.op)) return next.place == graph[node].place;
    return most > 0 && rearranges(next.op) && feeds_product(graph, users, user, most - 1);
  });
}

// Whether an operator of autocast's ends in a product, by its name; feeds_product() tells by what its casts feed.
bool ends_in_product(std::string_view op) {
  constexpr std::array kWords = {"mm",         "conv", "linear", "matmul", "mv", "einsum",
                                 "scaled_dot", "dot",  "lstm",   "gru",    "rnn"};
  return std::ranges::any_of(kWords, [&](std::string_view word) { return op.find(word) != op.npos; });
}

bool has_place(const TracedCast& cast, const Place& place) {
  return place.line != 0 && std::ranges::find(cast.places, place) != cast.places.end();
}

class Assignment {
 public:
  Assignment(const std::vector<Node>& graph, std::span<const TracedCast> traced)
      : graph_(graph), users_(users_of(graph)), traced_(traced), left_(traced.size(), 1) {}

  std::vector<GraphCast> make() {
    std::vector<GraphCast> casts;
    for (std::uint32_t i = 0; i < graph_.size(); ++i)
      if (const std::uint8_t from = converts_from(graph_, graph_[i]); from != kNoFloat)
        casts.push_back({i, from, graph_[i].dtype});
    for (std::uint32_t i = 0; i < traced_.size(); ++i)
      if (traced_[i].subclass) left_[i] = parts_of(traced_[i], casts);
    // The casts that are told by what they feed go first, so that a decomposition's conversion of the same line does
    // not take theirs.
    for (const bool sure : {true, false})
      for (GraphCast& cast : casts)
        if (cast.whose == Whose::kGraph) give(cast, sure);
    for (GraphCast& cast : casts)
      if (cast.whose == Whose::kGraph) give_without_place(cast);
    return casts;
  }

 private:
  bool may_be(const GraphCast& cast, const TracedCast& traced) const {
    return traced.from == cast.from && traced.to == cast.to && has_place(traced, graph_[cast.node].place);
  }

  // How many conversions of the graph stand for one cast of a subclass: the conversions of its place, divided among the
  // casts like it.
  std::size_t parts_of(const TracedCast& subclass, const std::vector<GraphCast>& casts) const {
    const auto conversions = std::ranges::count_if(casts, [&](const GraphCast& c) { return may_be(c, subclass); });
    std::ptrdiff_t plain = 0, like = 0;
    for (const TracedCast& other : traced_) {
      const bool beside = other.from == subclass.from && other.to == subclass.to && other.places == subclass.places;
      if (beside) ++(other.subclass ? like : plain);
    }
    return static_cast<std::size_t>(std::max<std::ptrdiff_t>(1, (conversions - plain) / like));
  }

  // The text has no place for a node that no code of the user's called (torch.compile(nn.Sequential(…))), nor for one
  // that ran in a checkpoint. There the order decides: it is that of the traced casts.
  void give_without_place(GraphCast& cast) {
    if (graph_[cast.node].place.line != 0 || !feeds_product(graph_, users_, cast.node)) return;
    for (std::uint32_t i = 0; i < traced_.size(); ++i) {
      const TracedCast& traced = traced_[i];
      if (left_[i] == 0 || traced.users || traced.from != cast.from || traced.to != cast.to ||
          !ends_in_product(traced.op))
        continue;
      --left_[i];
      cast.whose = Whose::kAutocast;
      cast.traced = i;
      return;
    }
  }

  void give(GraphCast& cast, bool sure) {
    for (std::uint32_t i = 0; i < traced_.size(); ++i) {
      const TracedCast& traced = traced_[i];
      if (left_[i] == 0 || !may_be(cast, traced)) continue;
      if (sure && (traced.users || !ends_in_product(traced.op) || !feeds_product(graph_, users_, cast.node))) continue;
      // A cast like it was told by what it feeds, and this one would be too: the graph makes it only once.
      if (!sure && told_.contains({traced.op, graph_[cast.node].place.line})) continue;
      --left_[i];
      if (sure) told_.emplace(traced.op, graph_[cast.node].place.line);
      cast.whose = traced.users ? Whose::kUser : Whose::kAutocast;
      cast.traced = i;
      return;
    }
  }

  const std::vector<Node>& graph_;
  const Users users_;
  const std::span<const TracedCast> traced_;
  std::vector<std::size_t> left_;                         // for each traced cast: how many conversions may still be its
  std::set<std::pair<std::string, std::uint32_t>> told_;  // operator and line
};

}  // namespace

bool is_product(const Node& node) { return multiplies(node.op) && node.dtype != kNoFloat; }

std::vector<GraphCast> casts_of(const std::vector<Node>& graph, std::span<const TracedCast> traced) {
  return Assignment(graph, traced).make();
}

}  // namespace castscope::compile
