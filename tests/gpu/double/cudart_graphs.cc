// The runtime's double: capturing streams into graphs, and using those graphs.
#include <algorithm>
#include <cstdio>

#include "cudart_state.h"

using namespace nogpu;

namespace {

Graph* graph_of(cudaGraph_t graph) { return reinterpret_cast<Graph*>(graph); }
cudaGraph_t handle_of(Graph* graph) { return reinterpret_cast<cudaGraph_t>(graph); }
GraphNode* node_of(cudaGraphNode_t node) { return reinterpret_cast<GraphNode*>(node); }
cudaGraphNode_t handle_of(GraphNode* node) { return reinterpret_cast<cudaGraphNode_t>(node); }
GraphExec* exec_of(cudaGraphExec_t exec) { return reinterpret_cast<GraphExec*>(exec); }

std::vector<GraphNode*> nodes_of(const cudaGraphNode_t* nodes, size_t count) {
  std::vector<GraphNode*> result;
  for (size_t i = 0; i < count; ++i) result.push_back(node_of(nodes[i]));
  return result;
}

bool is_capturing(const Stream* stream) {
  std::lock_guard guard(device_lock());
  return stream->capture && stream->capture->graph != nullptr;
}

// This is CUDA's way to return a list: its length, and as much of it as the caller has room for.
template <typename Nodes>
void give_nodes(const Nodes& nodes, cudaGraphNode_t* room, size_t* count) {
  if (room != nullptr) {
    for (size_t i = 0; i < std::min(*count, nodes.size()); ++i) room[i] = handle_of(&*nodes[i]);
  }
  *count = nodes.size();
}

cudaError_t begin(ApiCall& call, Stream* stream, Graph* graph, std::vector<GraphNode*> dependencies) {
  if (is_capturing(stream)) return done(call, cudaErrorIllegalState);
  begin_capture(stream, graph, std::move(dependencies));
  return done(call);
}

}  // namespace

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaStreamBeginCapture_v10000);
  return begin(call, stream_of(stream), new_graph(), {});
}

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                          const cudaGraphEdgeData*, size_t count, cudaStreamCaptureMode) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaStreamBeginCaptureToGraph_v12030);
  return begin(call, stream_of(stream), graph_of(graph), nodes_of(dependencies, count));
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaStreamEndCapture_v10000);
  if (!is_capturing(stream_of(stream))) return done(call, cudaErrorIllegalState);
  *graph = handle_of(end_capture(stream_of(stream)));
  return done(call);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaStreamIsCapturing_v10000);
  *status = is_capturing(stream_of(stream)) ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return done(call);
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status, unsigned long long* id,
                                     cudaGraph_t* graph, const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData** edges, size_t* count) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaStreamGetCaptureInfo_v12030);
  const Stream* stream = stream_of(handle);
  *status = cudaStreamCaptureStatusNone;
  if (edges != nullptr) *edges = nullptr;
  if (!is_capturing(stream)) return done(call);
  std::lock_guard guard(device_lock());
  *status = cudaStreamCaptureStatusActive;
  if (id != nullptr) *id = stream->capture->id;
  if (graph != nullptr) *graph = handle_of(stream->capture->graph);
  // The handle of a node is its address, so that the list can be returned directly.
  if (dependencies != nullptr) {
    *dependencies = reinterpret_cast<const cudaGraphNode_t*>(stream->capture_deps.data());
  }
  if (count != nullptr) *count = stream->capture_deps.size();
  return done(call);
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t handle, cudaGraphNode_t* dependencies,
                                                const cudaGraphEdgeData*, size_t count, unsigned flags) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaStreamUpdateCaptureDependencies_v12030);
  Stream* stream = stream_of(handle);
  if (!is_capturing(stream)) return done(call, cudaErrorIllegalState);
  std::lock_guard guard(device_lock());
  if (flags == cudaStreamSetCaptureDependencies) stream->capture_deps.clear();
  for (GraphNode* node : nodes_of(dependencies, count)) stream->capture_deps.push_back(node);
  return done(call);
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaThreadExchangeStreamCaptureMode_v10010);
  thread_local cudaStreamCaptureMode current = cudaStreamCaptureModeGlobal;
  std::swap(current, *mode);
  return done(call);
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaGraphInstantiateWithFlags_v11040);
  *exec = reinterpret_cast<cudaGraphExec_t>(instantiate(graph_of(graph)));
  return done(call);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  const cudaGraphLaunch_v10000_params params{exec, stream};
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000, &params);
  if (is_capturing(stream_of(stream))) return done(call, cudaErrorStreamCaptureUnsupported);
  replay(exec_of(exec), stream_of(stream), call.correlation(), call.name());
  return done(call);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaGraphDestroy_v10000);
  delete graph_of(graph);
  return done(call);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaGraphExecDestroy_v10000);
  delete exec_of(exec);
  return done(call);
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaGraphGetNodes_v10000);
  give_nodes(graph_of(graph)->nodes, nodes, count);
  return done(call);
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* nodes, cudaGraphEdgeData*,
                                         size_t* count) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaGraphNodeGetDependencies_v12030);
  give_nodes(node_of(node)->dependencies, nodes, count);
  return done(call);
}

// Of the nodes that are added by hand only kernels do anything; conditional nodes have no body.
cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                             const cudaGraphEdgeData*, size_t count, cudaGraphNodeParams* params) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaGraphAddNode_v12030);
  Operation operation;
  operation.kind = OperationKind::kEmpty;
  if (params->type == cudaGraphNodeTypeKernel) {
    const char* name = kernel_name(params->kernel.func);
    if (name == nullptr) return done(call, cudaErrorInvalidDeviceFunction);
    operation.kind = OperationKind::kKernel;
    operation.name = name;
    operation.duration = kernel_duration(name, params->kernel.gridDim.x);
  } else if (params->type != cudaGraphNodeTypeEmpty) {
    return done(call, cudaErrorNotSupported);
  }
  *node = handle_of(add_node(graph_of(graph), std::move(operation), nodes_of(dependencies, count)));
  return done(call);
}

cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle*, cudaGraph_t, unsigned, unsigned) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaGraphConditionalHandleCreate_v12030);
  return done(call, cudaErrorNotSupported);
}

cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char* path, unsigned) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaGraphDebugDotPrint_v11030);
  FILE* file = std::fopen(path, "we");
  if (file == nullptr) return done(call, cudaErrorOperatingSystem);
  std::fprintf(file, "digraph \"graph_%u\" {\n", graph_of(graph)->id);
  for (const auto& node : graph_of(graph)->nodes) {
    const auto id = static_cast<unsigned long long>(node->id);
    std::fprintf(file, "  n%llu [label=\"%s\"];\n", id, node->operation.name);
    for (const GraphNode* dependency : node->dependencies) {
      std::fprintf(file, "  n%llu -> n%llu;\n", static_cast<unsigned long long>(dependency->id), id);
    }
  }
  std::fprintf(file, "}\n");
  std::fclose(file);
  return done(call);
}
