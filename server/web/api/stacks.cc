// The route for the stacks of all casts and operators, as one tree: the flame view is made from it.
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "server/report/findings/fingerprint.h"
#include "server/web/api/routes.h"
#include "server/web/runs/snapshot.h"

namespace castscope::web {
namespace {

// Frames that many stacks share are told once. A node is a frame with the nodes of its callers; node 0 has none, and is
// no frame.
class StackTree {
 public:
  explicit StackTree(const store::RunData& run) : run_(run) {}

  // The node of a stack's innermost frame; 0: there is no stack.
  std::size_t node_of(store::StackId stack) {
    if (stack == 0) return 0;
    if (const auto known = nodes_of_stacks_.find(stack); known != nodes_of_stacks_.end()) return known->second;
    std::size_t node = 0;
    const auto& frames = run_.stacks[stack].frames;
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) node = child(node, frame_of(*frame));
    return nodes_of_stacks_[stack] = node;
  }

  Json frames() && { return std::move(frames_); }
  Json node_frames() && { return std::move(node_frames_); }
  Json node_parents() && { return std::move(node_parents_); }

 private:
  std::size_t frame_of(const store::CodeLocation& at) {
    const auto [it, is_new] = numbers_.try_emplace({at.file, at.line, at.function}, frames_.size());
    if (is_new)
      frames_.push_back({{"file", report::portable_path(at.file, run_.start.project())},
                         {"line", at.line},
                         {"function", at.function}});
    return it->second;
  }
  std::size_t child(std::size_t parent, std::size_t frame) {
    const auto [it, is_new] = children_.try_emplace({parent, frame}, children_.size() + 1);
    if (is_new) {
      node_frames_.push_back(frame);
      node_parents_.push_back(parent);
    }
    return it->second;
  }

  const store::RunData& run_;
  std::map<store::StackId, std::size_t> nodes_of_stacks_;
  std::map<std::tuple<std::string, std::int64_t, std::string>, std::size_t> numbers_;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> children_;
  Json frames_ = Json::array(), node_frames_ = Json::array(), node_parents_ = Json::array();
};

Answer stacks(Call& call) {
  const auto snapshot = call.run->snapshot();
  if (!snapshot.ok()) return snapshot.status();
  const store::RunData& run = (*snapshot)->data();
  StackTree tree(run);
  Json sites = Json::array(), uses = Json::array();
  for (const store::Site& site : run.sites) sites.push_back(tree.node_of(site.stack));
  for (const store::OperatorUse& use : run.operator_uses) uses.push_back(tree.node_of(use.stack));
  return json_answer({{"frames", std::move(tree).frames()},
                      {"node_frames", std::move(tree).node_frames()},
                      {"node_parents", std::move(tree).node_parents()},
                      {"site_nodes", std::move(sites)},
                      {"operator_use_nodes", std::move(uses)}});
}

}  // namespace

void add_stack_routes(std::vector<Route>& routes) { routes.push_back({"runs/{run}/stacks", {}, stacks, true}); }

}  // namespace castscope::web
