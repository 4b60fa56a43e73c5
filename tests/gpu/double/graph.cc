#include "graph.h"

#include <algorithm>
#include <atomic>
#include <unordered_map>
#include <utility>

#include "subscriber.h"

namespace nogpu {
namespace {

std::atomic<uint64_t> next_node{1};
std::atomic<uint32_t> next_graph{1};
std::atomic<uint64_t> next_capture{1};

}  // namespace

Graph* new_graph() { return new Graph{next_graph.fetch_add(1), {}}; }

GraphNode* add_node(Graph* graph, Operation operation, std::vector<GraphNode*> dependencies) {
  auto made = std::make_unique<GraphNode>(
      GraphNode{next_node.fetch_add(1), graph, std::move(operation), std::move(dependencies)});
  GraphNode* node = made.get();
  {
    std::lock_guard guard(device_lock());
    graph->nodes.push_back(std::move(made));
  }
  tell_graph_node_created(node);
  return node;
}

bool capture_into_graph(Stream* stream, Operation& operation) {
  Graph* graph = nullptr;
  std::vector<GraphNode*> dependencies;
  {
    std::lock_guard guard(device_lock());
    // A capture that ended elsewhere has no graph any more.
    if (!stream->capture || stream->capture->graph == nullptr) return false;
    graph = stream->capture->graph;
    dependencies = stream->capture_deps;
  }
  GraphNode* node = add_node(graph, std::move(operation), std::move(dependencies));
  std::lock_guard guard(device_lock());
  stream->capture_deps = {node};
  return true;
}

void begin_capture(Stream* stream, Graph* graph, std::vector<GraphNode*> dependencies) {
  std::lock_guard guard(device_lock());
  stream->capture = std::make_shared<Capture>(Capture{graph, next_capture.fetch_add(1)});
  stream->captures_here = true;
  stream->capture_deps = std::move(dependencies);
}

Graph* end_capture(Stream* stream) {
  std::lock_guard guard(device_lock());
  Graph* graph = stream->capture->graph;
  // Streams that joined by an event still point to the capture: it is over for them as well.
  stream->capture->graph = nullptr;
  stream->capture.reset();
  stream->captures_here = false;
  stream->capture_deps.clear();
  return graph;
}

GraphExec* instantiate(Graph* graph) {
  const uint32_t id = next_graph.fetch_add(1);
  auto* exec = new GraphExec{id, {id, {}}};
  std::unordered_map<const GraphNode*, GraphNode*> clones;
  for (const auto& original : graph->nodes) {
    auto clone = std::make_unique<GraphNode>(GraphNode{next_node.fetch_add(1), &exec->clone, original->operation, {}});
    for (GraphNode* dependency : original->dependencies) clone->dependencies.push_back(clones[dependency]);
    clones[original.get()] = clone.get();
    exec->clone.nodes.push_back(std::move(clone));
    tell_graph_node_cloned(original.get(), exec->clone.nodes.back().get(), exec);
  }
  return exec;
}

void replay(GraphExec* exec, Stream* stream, uint32_t correlation, const char* api) {
  const uint64_t launched = now();
  std::unordered_map<const GraphNode*, uint64_t> ends;
  uint64_t last = 0;
  for (const auto& node : exec->clone.nodes) {
    uint64_t ready = launched;
    for (const GraphNode* dependency : node->dependencies) ready = std::max(ready, ends[dependency]);
    ends[node.get()] = execute(stream, node->operation, ready, correlation, api, node->id, exec->clone.id);
    last = std::max(last, ends[node.get()]);
  }
  std::lock_guard guard(device_lock());
  stream->end = std::max(stream->end, last);
}

}  // namespace nogpu
