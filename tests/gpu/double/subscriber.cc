#include "subscriber.h"

#include <atomic>
#include <cstring>
#include <mutex>
#include <string>

#include "faults.h"

namespace {

struct Seat {
  std::mutex lock;
  bool taken = false;
  CUpti_CallbackFunc callback = nullptr;
  void* data = nullptr;
  std::string name;
  uint64_t generation = 0;
  std::atomic<bool> enabled[CUPTI_CB_DOMAIN_SIZE][nogpu::kMostCallbackIds] = {};
};

Seat& seat() {
  static Seat* one = new Seat;
  return *one;
}

// A handle is never the same twice, so that a stale handle differs from the one in the seat.
CUpti_SubscriberHandle handle_of(uint64_t generation) {
  return reinterpret_cast<CUpti_SubscriberHandle>(generation << 4);
}

bool sits(CUpti_SubscriberHandle subscriber) { return seat().taken && subscriber == handle_of(seat().generation); }

bool known(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  return domain > CUPTI_CB_DOMAIN_INVALID && domain < CUPTI_CB_DOMAIN_SIZE && id < nogpu::kMostCallbackIds;
}

void disable_all() {
  for (auto& domain : seat().enabled) {
    for (auto& callback : domain) callback.store(false, std::memory_order_relaxed);
  }
}

void enable_domain(bool enable, CUpti_CallbackDomain domain) {
  for (uint32_t id = 1; id < nogpu::kMostCallbackIds; ++id) seat().enabled[domain][id].store(enable);
}

void name_holder(const CUpti_SubscriberParams* params, const char* holder) {
  if (params == nullptr || params->oldSubscriberName == nullptr || params->oldSubscriberSize == 0) return;
  std::strncpy(params->oldSubscriberName, holder, params->oldSubscriberSize - 1);
  params->oldSubscriberName[params->oldSubscriberSize - 1] = '\0';
}

void tell_graph(CUpti_CallbackId id, CUpti_GraphData* graph) {
  if (!nogpu::wants_callback(CUPTI_CB_DOMAIN_RESOURCE, id)) return;
  CUpti_ResourceData data{};
  data.context = reinterpret_cast<CUcontext>(nogpu::context_of(nogpu::current_device()));
  data.resourceDescriptor = graph;
  nogpu::call_subscriber(CUPTI_CB_DOMAIN_RESOURCE, id, &data);
}

CUgraphNodeType node_type(const nogpu::GraphNode* node) {
  switch (node->operation.kind) {
    case nogpu::OperationKind::kKernel:
      return CU_GRAPH_NODE_TYPE_KERNEL;
    case nogpu::OperationKind::kMemcpy:
      return CU_GRAPH_NODE_TYPE_MEMCPY;
    case nogpu::OperationKind::kMemset:
      return CU_GRAPH_NODE_TYPE_MEMSET;
    case nogpu::OperationKind::kHost:
      return CU_GRAPH_NODE_TYPE_HOST;
    default:
      return CU_GRAPH_NODE_TYPE_EMPTY;
  }
}

}  // namespace

namespace nogpu {

bool wants_callback(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  return id < kMostCallbackIds && seat().enabled[domain][id].load(std::memory_order_relaxed);
}

void call_subscriber(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  CUpti_CallbackFunc callback = nullptr;
  void* user = nullptr;
  {
    std::lock_guard guard(seat().lock);
    if (!seat().taken) return;
    callback = seat().callback;
    user = seat().data;
  }
  // Called without the lock: a subscriber may unsubscribe from within its callback.
  if (callback != nullptr) callback(user, domain, id, static_cast<const CUpti_CallbackData*>(data));
}

void clear_seat() {
  std::lock_guard guard(seat().lock);
  seat().taken = false;
  disable_all();
}

bool seat_is_taken() {
  std::lock_guard guard(seat().lock);
  return seat().taken;
}

void tell_context_created(Context* context) {
  if (!wants_callback(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED)) return;
  CUpti_ResourceData data{};
  data.context = reinterpret_cast<CUcontext>(context);
  call_subscriber(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED, &data);
}

void tell_graph_node_created(GraphNode* node) {
  CUpti_GraphData graph{};
  graph.graph = reinterpret_cast<CUgraph>(node->graph);
  graph.node = reinterpret_cast<CUgraphNode>(node);
  graph.nodeType = node_type(node);
  tell_graph(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, &graph);
}

void tell_graph_node_cloned(GraphNode* original, GraphNode* clone, GraphExec* exec) {
  CUpti_GraphData graph{};
  graph.graph = reinterpret_cast<CUgraph>(clone->graph);
  graph.originalGraph = reinterpret_cast<CUgraph>(original->graph);
  graph.node = reinterpret_cast<CUgraphNode>(clone);
  graph.originalNode = reinterpret_cast<CUgraphNode>(original);
  graph.nodeType = node_type(clone);
  graph.graphExec = reinterpret_cast<CUgraphExec>(exec);
  tell_graph(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, &graph);
}

}  // namespace nogpu

CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* data,
                              CUpti_SubscriberParams* params) {
  if (subscriber == nullptr || (params != nullptr && params->structSize == 0)) return CUPTI_ERROR_INVALID_PARAMETER;
  std::lock_guard guard(seat().lock);
  if (nogpu::fault(nogpu::Fault::kNoSeat) != 0 || seat().taken) {
    name_holder(params, seat().taken ? seat().name.c_str() : "Nsight Systems");
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  seat().taken = true;
  seat().callback = callback;
  seat().data = data;
  seat().name = "CUPTI for ";
  if (params != nullptr && params->subscriberName != nullptr) seat().name += params->subscriberName;
  *subscriber = handle_of(++seat().generation);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* data) {
  return cuptiSubscribe_v2(subscriber, callback, data, nullptr);
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
  std::lock_guard guard(seat().lock);
  if (!sits(subscriber)) return CUPTI_ERROR_INVALID_PARAMETER;
  seat().taken = false;
  disable_all();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain,
                                CUpti_CallbackId id) {
  std::lock_guard guard(seat().lock);
  if (!sits(subscriber) || !known(domain, id)) return CUPTI_ERROR_INVALID_PARAMETER;
  seat().enabled[domain][id].store(enable != 0);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain) {
  std::lock_guard guard(seat().lock);
  if (!sits(subscriber) || !known(domain, 1)) return CUPTI_ERROR_INVALID_PARAMETER;
  enable_domain(enable != 0, domain);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle subscriber) {
  std::lock_guard guard(seat().lock);
  if (!sits(subscriber)) return CUPTI_ERROR_INVALID_PARAMETER;
  for (int domain = 1; domain < CUPTI_CB_DOMAIN_SIZE; ++domain) {
    enable_domain(enable != 0, static_cast<CUpti_CallbackDomain>(domain));
  }
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackState(uint32_t* enable, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain,
                                  CUpti_CallbackId id) {
  std::lock_guard guard(seat().lock);
  if (enable == nullptr || !sits(subscriber) || !known(domain, id)) return CUPTI_ERROR_INVALID_PARAMETER;
  *enable = seat().enabled[domain][id].load() ? 1 : 0;
  return CUPTI_SUCCESS;
}
