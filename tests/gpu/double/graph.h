// CUDA graphs: the operations of a captured stream, which are cloned when the graph is instantiated, and replayed.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "device.h"

namespace nogpu {

struct GraphNode {
  uint64_t id;
  Graph* graph;
  Operation operation;
  std::vector<GraphNode*> dependencies;
};

struct Graph {
  uint32_t id;
  std::vector<std::unique_ptr<GraphNode>> nodes;  // in the order of creation, which is consistent with all dependencies
};

// The clone has the executable graph's number, which is the one in records.
struct GraphExec {
  uint32_t id;
  Graph clone;
};

Graph* new_graph();
GraphNode* add_node(Graph* graph, Operation operation, std::vector<GraphNode*> dependencies);
// Returns false if the stream is not being captured.
bool capture_into_graph(Stream* stream, Operation& operation);
void begin_capture(Stream* stream, Graph* graph, std::vector<GraphNode*> dependencies);
Graph* end_capture(Stream* stream);
GraphExec* instantiate(Graph* graph);
void replay(GraphExec* exec, Stream* stream, uint32_t correlation, const char* api);

}  // namespace nogpu
