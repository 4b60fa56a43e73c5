#include "agent/gpu/graph_nodes.h"

namespace castscope::gpu {

void GraphNodes::created(std::uint64_t node, std::uint64_t ticket) {
  if (ticket == 0) return;
  std::lock_guard lock(mutex_);
  if (nodes_.size() >= kMost) {
    nodes_.clear();
    clones_.clear();
    unsettled_.clear();
  }
  nodes_[node] = {ticket, {}};
  unsettled_.push_back(node);
}

void GraphNodes::cloned(std::uint64_t node, std::uint64_t from) {
  std::lock_guard lock(mutex_);
  const auto further = clones_.find(from);
  const std::uint64_t origin = further == clones_.end() ? from : further->second;
  if (nodes_.contains(origin)) clones_[node] = origin;
}

bool GraphNodes::find(std::uint64_t node, Purpose* purpose) {
  std::lock_guard lock(mutex_);
  const auto clone = clones_.find(node);
  const auto found = nodes_.find(clone == clones_.end() ? node : clone->second);
  if (found == nodes_.end()) return false;
  Node& n = found->second;
  if (n.ticket != 0 && book_.find(n.ticket, &n.purpose) == WorkBook::Found::kSettled) n.ticket = 0;
  *purpose = n.purpose;
  return n.ticket == 0;
}

void GraphNodes::settle() {
  std::lock_guard lock(mutex_);
  std::size_t left = 0;
  for (const std::uint64_t node : unsettled_) {
    const auto found = nodes_.find(node);
    if (found == nodes_.end() || found->second.ticket == 0) continue;
    Node& n = found->second;
    if (book_.find(n.ticket, &n.purpose) == WorkBook::Found::kOpen)
      unsettled_[left++] = node;
    else
      n.ticket = 0;
  }
  unsettled_.resize(left);
}

}  // namespace castscope::gpu
