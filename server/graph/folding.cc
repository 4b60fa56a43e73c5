#include "server/graph/folding.h"

#include <algorithm>
#include <map>
#include <utility>

namespace castscope::graph {
namespace {

// A module and the modules in it, with the operators that each calls itself.
struct Scope {
  std::string name, type;
  std::vector<std::size_t> own;
  std::vector<Scope> inner;

  std::size_t operators() const {
    std::size_t all = own.size();
    for (const Scope& one : inner) all += one.operators();
    return all;
  }
  void collect_operators(std::vector<std::size_t>& nodes) const {
    nodes.insert(nodes.end(), own.begin(), own.end());
    for (const Scope& one : inner) one.collect_operators(nodes);
  }
  std::vector<std::size_t> nodes() const {
    std::vector<std::size_t> all;
    collect_operators(all);
    std::sort(all.begin(), all.end());
    return all;
  }
};

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Scope& inner(Scope& scope, const std::string& name) {
  for (Scope& one : scope.inner)
    if (one.name == name) return one;
  return scope.inner.emplace_back(Scope{.name = name, .type = "", .own = {}, .inner = {}});
}

Scope scope_of(const Part& part) {
  Scope whole;
  for (std::size_t i = 0; i < part.nodes.size(); ++i) {
    Scope* scope = &whole;
    if (const store::Module* module = part.nodes[i].module; module != nullptr) {
      for (const std::string& step : module_steps(*module)) scope = &inner(*scope, step);
      scope->type = module->type;
    }
    scope->own.push_back(i);
  }
  return whole;
}

class Folding {
 public:
  Folding(const Part& part, const Limits& limits) : part_(part), limits_(limits), edges_into_(part.nodes.size()) {
    for (const Edge& edge : part.edges) edges_into_[edge.to].push_back(&edge);
  }

  std::vector<View> fold() {
    const Scope whole = scope_of(part_);
    add_view(whole, "");
    return std::move(views_);
  }

 private:
  struct Group {
    const Scope* scope = nullptr;
    std::string path;
    std::size_t size = 0;                                                          // operators
    std::size_t boxes() const { return scope->own.size() + scope->inner.size(); }  // when it is opened
  };
  // The operators to draw one by one, and the modules that stay folded.
  struct Choice {
    std::vector<std::size_t> operators;
    std::vector<Group> groups;
    std::size_t boxes() const { return operators.size() + groups.size(); }
  };

  std::size_t add_view(const Scope& scope, const std::string& path) {
    const std::size_t number = views_.size();
    views_.push_back({.module = path, .items = {}, .bundles = {}});
    View view{.module = path, .items = {}, .bundles = {}};
    std::vector<Group> folded;
    fill_view(view, choose(scope, path), folded);
    drawn_ += view.items.size();
    connect_items(view);
    for (std::size_t i = 0, f = 0; i < view.items.size(); ++i)
      if (view.items[i].folded()) view.items[i].view = view_of(folded[f]), ++f;
    views_[number] = std::move(view);
    return number;
  }

  // Returns the drawing of a group; groups that look alike share one.
  std::size_t view_of(const Group& group) {
    const std::string look = likeness(*group.scope);
    const auto [known, fresh] = by_likeness_.try_emplace(look, kNoView);
    if (!fresh) return known->second;
    if (drawn_ + std::min(group.size, limits_.at_once) > limits_.in_all) return kNoView;
    return by_likeness_[look] = add_view(*group.scope, group.path);
  }

  static void open_group(const Group& group, Choice& into) {
    into.operators.insert(into.operators.end(), group.scope->own.begin(), group.scope->own.end());
    for (const Scope& one : group.scope->inner) {
      const std::size_t size = one.operators();
      if (size == 1)
        one.collect_operators(into.operators);
      else
        into.groups.push_back({&one, group.path.empty() ? one.name : group.path + "." + one.name, size});
    }
  }

  // Opens modules level by level, as long as a whole level fits, so that alike blocks are drawn alike. Where the next
  // level does not fit, it opens only the module that holds most of the rest.
  Choice choose(const Scope& scope, const std::string& path) const {
    Choice choice;
    open_group({&scope, path, scope.operators()}, choice);
    while (!choice.groups.empty()) {
      std::size_t boxes = choice.operators.size(), all = 0;
      auto largest = choice.groups.begin();
      for (auto group = choice.groups.begin(); group != choice.groups.end(); ++group) {
        boxes += group->boxes();
        all += group->size;
        if (group->size > largest->size) largest = group;
      }
      std::vector<Group> opened;
      if (boxes <= limits_.at_once) {
        opened.swap(choice.groups);
      } else if (2 * largest->size > all && choice.boxes() - 1 + largest->boxes() <= limits_.at_once) {
        opened.push_back(*largest);
        choice.groups.erase(largest);
      } else {
        break;
      }
      for (const Group& group : opened) open_group(group, choice);
    }
    return choice;
  }

  void fill_view(View& view, const Choice& choice, std::vector<Group>& folded) {
    std::vector<std::pair<Item, const Group*>> items;
    for (const std::size_t node : choice.operators) items.emplace_back(item_of(node), nullptr);
    for (const Group& group : choice.groups) items.emplace_back(item_of(group), &group);
    std::sort(items.begin(), items.end(), [](const auto& a, const auto& b) { return a.first.node < b.first.node; });
    if (items.size() > limits_.in_one) {
      for (std::size_t i = limits_.in_one; i < items.size(); ++i) view.left_out += items[i].first.operators;
      items.resize(limits_.in_one);
    }
    for (auto& [item, group] : items) {
      view.items.push_back(std::move(item));
      if (group != nullptr) folded.push_back(*group);
    }
  }

  Item item_of(std::size_t node) const {
    const Node& one = part_.nodes[node];
    Item item;
    item.node = node;
    item.casts = one.entries.size() + one.edge_casts;
    item.computed = {one.computed};
    return item;
  }

  Item item_of(const Group& group) {
    const std::vector<std::size_t> nodes = group.scope->nodes();
    Item item;
    item.node = nodes.front();
    item.module = group.path;
    item.module_type = group.scope->type;
    item.operators = nodes.size();
    for (const std::size_t node : nodes) {
      item.casts += part_.nodes[node].entries.size() + part_.nodes[node].edge_casts;
      item.computed.insert(part_.nodes[node].computed);
      inside_[node] = group.path;
    }
    return item;
  }

  // Maps the view's nodes to the items that hold them; nodes outside of the view are not drawn.
  void connect_items(View& view) {
    std::map<std::string, std::size_t> by_module;
    std::map<std::size_t, std::size_t> by_node;
    for (std::size_t i = 0; i < view.items.size(); ++i) {
      if (view.items[i].folded())
        by_module[view.items[i].module] = i;
      else
        by_node[view.items[i].node] = i;
    }
    const auto item_with = [&](std::size_t node) {
      if (const auto found = by_node.find(node); found != by_node.end()) return found->second;
      const auto path = inside_.find(node);
      const auto found = path == inside_.end() ? by_module.end() : by_module.find(path->second);
      return found == by_module.end() ? kNoView : found->second;
    };
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> known;
    for (const Edge& edge : part_.edges) {
      const std::size_t from = item_with(edge.from), to = item_with(edge.to);
      if (from == kNoView && to != kNoView && edge.is_cast() && !view.items[to].folded())
        view.items[to].from_outside.push_back(&edge);
      if (from == kNoView || to == kNoView || from == to) continue;
      const auto [at, fresh] = known.try_emplace({from, to}, view.bundles.size());
      if (fresh) view.bundles.push_back({.from = from, .to = to, .edges = {}});
      view.bundles[at->second].edges.push_back(&edge);
    }
  }

  // Describes how a module looks: operators, dtypes, casts and the lines between them, whatever the module is called.
  std::string likeness(const Scope& scope) const {
    const std::vector<std::size_t> nodes = scope.nodes();
    std::map<std::size_t, std::size_t> place;
    for (std::size_t i = 0; i < nodes.size(); ++i) place[nodes[i]] = i;
    std::string text = scope.type;
    for (const std::size_t node : nodes) {
      const Node& one = part_.nodes[node];
      text += "\n" + one.op + " " + one.node + (one.module == nullptr ? "" : " " + one.module->type);
      if (one.at) text += " " + one.at->file + ":" + std::to_string(one.at->line);
      text += " " + std::to_string(one.computed) + " " + std::to_string(one.result);
      std::set<std::string> casts;  // casts of values from outside, whether an operator made them or not
      const auto cast = [&](const std::string& argument, int from, int to) {
        casts.insert(" " + argument + " " + std::to_string(from) + ">" + std::to_string(to));
      };
      for (const EntryCast& entry : one.entries) cast(entry.argument, entry.from, entry.to);
      for (const Edge* edge : edges_into_[node]) {
        if (const auto from = place.find(edge->from); from != place.end())
          text += " " + std::to_string(from->second) + ":" + std::to_string(edge->cast_to);
        else if (edge->is_cast())
          cast(edge->argument, edge->dtype, edge->cast_to);
      }
      for (const std::string& one_cast : casts) text += one_cast;
    }
    return text;
  }

  const Part& part_;
  const Limits limits_;
  std::vector<std::vector<const Edge*>> edges_into_;  // by node
  std::vector<View> views_;
  std::map<std::size_t, std::string> inside_;  // by node: the folded module that it was last put into
  std::map<std::string, std::size_t> by_likeness_;
  std::size_t drawn_ = 0;
};

}  // namespace

std::vector<std::string> module_steps(const store::Module& module) {
  std::vector<std::string> steps{module.model()};
  std::string_view path = module.path;
  while (!path.empty()) {
    const std::size_t dot = steps.size() + 1 < kMostModuleSteps ? path.find('.') : std::string_view::npos;
    const std::string step(path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
    if (is_number(step) && steps.size() > 1)
      steps.back() += "." + step;  // one of a list
    else
      steps.push_back(step);
  }
  return steps;
}

std::vector<View> fold(const Part& part, const Limits& limits) { return Folding(part, limits).fold(); }

}  // namespace castscope::graph
