// Checks our own declarations of CUPTI's interface (agent/gpu/cupti/cupti_abi.h) against NVIDIA's headers, those of
// CUDA 12 and 13. It is compiled, never run: scripts/check-gpu-abi.

#include <cupti.h>

#include <cstddef>
#include <iterator>
#include <type_traits>

#include "agent/gpu/cupti/cupti_abi.h"

namespace castscope::gpu::cupti {
namespace {

template <typename Ours, typename Theirs>
constexpr bool called_alike = false;

// All enums of CUPTI are 32 bits wide, and integers in our declarations; types that it hides behind an address are void
// in ours.
template <typename Ours, typename Theirs>
constexpr bool passed_alike() {
  if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
    using Our = std::remove_pointer_t<Ours>;
    using Their = std::remove_pointer_t<Theirs>;
    if constexpr (std::is_function_v<Our> || std::is_function_v<Their>)
      return called_alike<Our, Their>;
    else if constexpr (std::is_void_v<Our> || std::is_class_v<Our>)
      return std::is_const_v<Our> == std::is_const_v<Their> && (std::is_void_v<Their> || std::is_class_v<Their>);
    else
      return std::is_const_v<Our> == std::is_const_v<Their> &&
             passed_alike<std::remove_const_t<Our>, std::remove_const_t<Their>>();
  } else if constexpr (std::is_integral_v<Ours> && std::is_integral_v<Theirs>) {
    return sizeof(Ours) == sizeof(Theirs) && std::is_signed_v<Ours> == std::is_signed_v<Theirs>;
  } else if constexpr (std::is_enum_v<Theirs> && !std::is_pointer_v<Ours>) {
    return sizeof(Ours) == sizeof(Theirs);
  } else {
    return std::is_void_v<Ours> && std::is_void_v<Theirs>;
  }
}
template <typename R, typename... Args, typename TheirR, typename... TheirArgs>
requires(sizeof...(Args) == sizeof...(TheirArgs)) constexpr bool called_alike<R(Args...), TheirR(TheirArgs...)> =
    passed_alike<R, TheirR>() && (passed_alike<Args, TheirArgs>() && ...);

static_assert(called_alike<int(int, void*), CUptiResult(CUpti_ActivityKind, CUcontext)>);
static_assert(!called_alike<int(int), CUptiResult(std::uint64_t)> && !called_alike<int(int), CUptiResult(int, int)>);
static_assert(!called_alike<int(std::uint64_t*), CUptiResult(std::uint32_t*)>);
static_assert(!called_alike<int(void**), CUptiResult(CUcontext)> &&
              !called_alike<int(void*), CUptiResult(const void*)>);
static_assert(!called_alike<int(Timestamp), CUptiResult(CUpti_BuffersCallbackRequestFunc)>);

#define CASTSCOPE_SAME_FUNCTION(ours, theirs) \
  static_assert(called_alike<std::remove_pointer_t<decltype(Api::ours)>, decltype(theirs)>, #theirs)
CASTSCOPE_SAME_FUNCTION(subscribe, cuptiSubscribe);
CASTSCOPE_SAME_FUNCTION(unsubscribe, cuptiUnsubscribe);
CASTSCOPE_SAME_FUNCTION(enable_callback, cuptiEnableCallback);
CASTSCOPE_SAME_FUNCTION(graph_node_id, cuptiGetGraphNodeId);
CASTSCOPE_SAME_FUNCTION(register_callbacks, cuptiActivityRegisterCallbacks);
CASTSCOPE_SAME_FUNCTION(enable, cuptiActivityEnable);
CASTSCOPE_SAME_FUNCTION(disable, cuptiActivityDisable);
CASTSCOPE_SAME_FUNCTION(enable_runtime, cuptiActivityEnableRuntimeApi);
CASTSCOPE_SAME_FUNCTION(enable_driver, cuptiActivityEnableDriverApi);
CASTSCOPE_SAME_FUNCTION(flush_all, cuptiActivityFlushAll);
CASTSCOPE_SAME_FUNCTION(next_record, cuptiActivityGetNextRecord);
CASTSCOPE_SAME_FUNCTION(dropped, cuptiActivityGetNumDroppedRecords);
CASTSCOPE_SAME_FUNCTION(push, cuptiActivityPushExternalCorrelationId);
CASTSCOPE_SAME_FUNCTION(pop, cuptiActivityPopExternalCorrelationId);
CASTSCOPE_SAME_FUNCTION(timestamp, cuptiGetTimestamp);
CASTSCOPE_SAME_FUNCTION(version, cuptiGetVersion);
CASTSCOPE_SAME_FUNCTION(result_string, cuptiGetResultString);
// job_cupti.cc stands in front of these, and castscope itself does not call them.
static_assert(called_alike<Result(Timestamp), decltype(cuptiActivityRegisterTimestampCallback)>);
static_assert(called_alike<Result(), decltype(cuptiFinalize)>);
static_assert(called_alike<Result(int, std::size_t*, void*), decltype(cuptiActivitySetAttribute)>);
#if CUPTI_API_VERSION >= 130000
static_assert(called_alike<Result(Subscriber*, Callback, void*, void*), decltype(cuptiSubscribe_v2)>);
#endif

// Place and width are the same: our field is read as theirs was written.
#define CASTSCOPE_SAME_FIELD(ours, our, theirs, their)                                \
  static_assert(offsetof(ours, our) == offsetof(theirs, their), #theirs "::" #their); \
  static_assert(sizeof(ours::our) == sizeof(theirs::their), #theirs "::" #their)
#define CASTSCOPE_SAME_WORK(ours, theirs)                            \
  CASTSCOPE_SAME_FIELD(ours, kind, theirs, kind);                    \
  CASTSCOPE_SAME_FIELD(ours, start, theirs, start);                  \
  CASTSCOPE_SAME_FIELD(ours, end, theirs, end);                      \
  CASTSCOPE_SAME_FIELD(ours, device, theirs, deviceId);              \
  CASTSCOPE_SAME_FIELD(ours, context, theirs, contextId);            \
  CASTSCOPE_SAME_FIELD(ours, stream, theirs, streamId);              \
  CASTSCOPE_SAME_FIELD(ours, correlation_id, theirs, correlationId); \
  CASTSCOPE_SAME_FIELD(ours, graph_node, theirs, graphNodeId);       \
  static_assert(sizeof(ours) <= sizeof(theirs), #theirs)
#define CASTSCOPE_SAME_KERNEL(theirs)                                             \
  CASTSCOPE_SAME_WORK(KernelRecord, theirs);                                      \
  CASTSCOPE_SAME_FIELD(KernelRecord, completed, theirs, completed);               \
  static_assert(offsetof(KernelRecord, grid) == offsetof(theirs, gridX) &&        \
                    offsetof(KernelRecord, grid[2]) == offsetof(theirs, gridZ) && \
                    offsetof(KernelRecord, block) == offsetof(theirs, blockX) &&  \
                    offsetof(KernelRecord, block[2]) == offsetof(theirs, blockZ), \
                #theirs);                                                         \
  CASTSCOPE_SAME_FIELD(KernelRecord, grid_id, theirs, gridId);                    \
  CASTSCOPE_SAME_FIELD(KernelRecord, name, theirs, name)
#define CASTSCOPE_SAME_MEMCPY(theirs)                              \
  CASTSCOPE_SAME_WORK(MemcpyRecord, theirs);                       \
  CASTSCOPE_SAME_FIELD(MemcpyRecord, direction, theirs, copyKind); \
  CASTSCOPE_SAME_FIELD(MemcpyRecord, bytes, theirs, bytes)
#define CASTSCOPE_SAME_PEER(theirs)                                    \
  CASTSCOPE_SAME_WORK(PeerMemcpyRecord, theirs);                       \
  CASTSCOPE_SAME_FIELD(PeerMemcpyRecord, direction, theirs, copyKind); \
  CASTSCOPE_SAME_FIELD(PeerMemcpyRecord, bytes, theirs, bytes)
#define CASTSCOPE_SAME_MEMSET(theirs)                       \
  CASTSCOPE_SAME_WORK(MemsetRecord, theirs);                \
  CASTSCOPE_SAME_FIELD(MemsetRecord, value, theirs, value); \
  CASTSCOPE_SAME_FIELD(MemsetRecord, bytes, theirs, bytes)

// A CUPTI writes its newest struct; the headers keep all earlier ones, back to those of CUDA 11.
CASTSCOPE_SAME_KERNEL(CUpti_ActivityKernel5);
CASTSCOPE_SAME_KERNEL(CUpti_ActivityKernel6);
CASTSCOPE_SAME_KERNEL(CUpti_ActivityKernel7);
CASTSCOPE_SAME_KERNEL(CUpti_ActivityKernel8);
CASTSCOPE_SAME_KERNEL(CUpti_ActivityKernel9);
CASTSCOPE_SAME_MEMCPY(CUpti_ActivityMemcpy4);
CASTSCOPE_SAME_MEMCPY(CUpti_ActivityMemcpy5);
CASTSCOPE_SAME_PEER(CUpti_ActivityMemcpyPtoP3);
CASTSCOPE_SAME_PEER(CUpti_ActivityMemcpyPtoP4);
CASTSCOPE_SAME_MEMSET(CUpti_ActivityMemset3);
CASTSCOPE_SAME_MEMSET(CUpti_ActivityMemset4);
#if CUPTI_API_VERSION >= 130000
CASTSCOPE_SAME_KERNEL(CUpti_ActivityKernel10);
CASTSCOPE_SAME_MEMCPY(CUpti_ActivityMemcpy6);
#endif

CASTSCOPE_SAME_FIELD(Record, kind, CUpti_Activity, kind);
CASTSCOPE_SAME_FIELD(ExternalCorrelationRecord, kind, CUpti_ActivityExternalCorrelation, kind);
CASTSCOPE_SAME_FIELD(ExternalCorrelationRecord, external_kind, CUpti_ActivityExternalCorrelation, externalKind);
CASTSCOPE_SAME_FIELD(ExternalCorrelationRecord, external_id, CUpti_ActivityExternalCorrelation, externalId);
CASTSCOPE_SAME_FIELD(ExternalCorrelationRecord, correlation_id, CUpti_ActivityExternalCorrelation, correlationId);
CASTSCOPE_SAME_FIELD(ApiRecord, kind, CUpti_ActivityAPI, kind);
CASTSCOPE_SAME_FIELD(ApiRecord, callback_id, CUpti_ActivityAPI, cbid);
CASTSCOPE_SAME_FIELD(ApiRecord, start, CUpti_ActivityAPI, start);
CASTSCOPE_SAME_FIELD(ApiRecord, end, CUpti_ActivityAPI, end);
CASTSCOPE_SAME_FIELD(ApiRecord, process_id, CUpti_ActivityAPI, processId);
CASTSCOPE_SAME_FIELD(ApiRecord, thread_id, CUpti_ActivityAPI, threadId);
CASTSCOPE_SAME_FIELD(ApiRecord, correlation_id, CUpti_ActivityAPI, correlationId);
CASTSCOPE_SAME_FIELD(ApiRecord, result, CUpti_ActivityAPI, returnValue);

CASTSCOPE_SAME_FIELD(ResourceData, context, CUpti_ResourceData, context);
CASTSCOPE_SAME_FIELD(ResourceData, handle, CUpti_ResourceData, resourceHandle);
CASTSCOPE_SAME_FIELD(ResourceData, descriptor, CUpti_ResourceData, resourceDescriptor);
CASTSCOPE_SAME_FIELD(GraphData, graph, CUpti_GraphData, graph);
CASTSCOPE_SAME_FIELD(GraphData, original_graph, CUpti_GraphData, originalGraph);
CASTSCOPE_SAME_FIELD(GraphData, node, CUpti_GraphData, node);
CASTSCOPE_SAME_FIELD(GraphData, original_node, CUpti_GraphData, originalNode);

#define CASTSCOPE_SAME_VALUE(ours, theirs) \
  static_assert(static_cast<long long>(ours) == static_cast<long long>(theirs), #theirs)
CASTSCOPE_SAME_VALUE(kSuccess, CUPTI_SUCCESS);
CASTSCOPE_SAME_VALUE(kMultipleSubscribers, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
CASTSCOPE_SAME_VALUE(kMemcpy, CUPTI_ACTIVITY_KIND_MEMCPY);
CASTSCOPE_SAME_VALUE(kPeerMemcpy, CUPTI_ACTIVITY_KIND_MEMCPY2);
CASTSCOPE_SAME_VALUE(kMemset, CUPTI_ACTIVITY_KIND_MEMSET);
CASTSCOPE_SAME_VALUE(kDriver, CUPTI_ACTIVITY_KIND_DRIVER);
CASTSCOPE_SAME_VALUE(kRuntime, CUPTI_ACTIVITY_KIND_RUNTIME);
CASTSCOPE_SAME_VALUE(kConcurrentKernel, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
CASTSCOPE_SAME_VALUE(kExternalCorrelation, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
CASTSCOPE_SAME_VALUE(kKindOurs, CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2);
CASTSCOPE_SAME_VALUE(kFlushForced, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
CASTSCOPE_SAME_VALUE(kResourceDomain, CUPTI_CB_DOMAIN_RESOURCE);
CASTSCOPE_SAME_VALUE(kGraphNodeCreated, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED);
CASTSCOPE_SAME_VALUE(kGraphNodeCloned, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);

// The functions that launch work, in the order of our list.
#define CASTSCOPE_RUNTIME(name) CUPTI_RUNTIME_TRACE_CBID_##name
#define CASTSCOPE_DRIVER(name) CUPTI_DRIVER_TRACE_CBID_##name
constexpr int kTheirRuntime[] = {
    CASTSCOPE_RUNTIME(cudaMemcpy_v3020),
    CASTSCOPE_RUNTIME(cudaMemcpyAsync_v3020),
    CASTSCOPE_RUNTIME(cudaMemcpy2DAsync_v3020),
    CASTSCOPE_RUNTIME(cudaMemset_v3020),
    CASTSCOPE_RUNTIME(cudaMemsetAsync_v3020),
    CASTSCOPE_RUNTIME(cudaMemcpyPeerAsync_v4000),
    CASTSCOPE_RUNTIME(cudaLaunchKernel_v7000),
    CASTSCOPE_RUNTIME(cudaLaunchKernel_ptsz_v7000),
    CASTSCOPE_RUNTIME(cudaMemcpy_ptds_v7000),
    CASTSCOPE_RUNTIME(cudaMemcpyAsync_ptsz_v7000),
    CASTSCOPE_RUNTIME(cudaMemsetAsync_ptsz_v7000),
    CASTSCOPE_RUNTIME(cudaLaunchCooperativeKernel_v9000),
    CASTSCOPE_RUNTIME(cudaLaunchCooperativeKernel_ptsz_v9000),
    CASTSCOPE_RUNTIME(cudaLaunchCooperativeKernelMultiDevice_v9000),
    CASTSCOPE_RUNTIME(cudaGraphLaunch_v10000),
    CASTSCOPE_RUNTIME(cudaGraphLaunch_ptsz_v10000),
    CASTSCOPE_RUNTIME(cudaStreamBeginCapture_v10000),
    CASTSCOPE_RUNTIME(cudaStreamBeginCapture_ptsz_v10000),
    CASTSCOPE_RUNTIME(cudaStreamEndCapture_v10000),
    CASTSCOPE_RUNTIME(cudaStreamEndCapture_ptsz_v10000),
    CASTSCOPE_RUNTIME(cudaLaunchKernelExC_v11060),
    CASTSCOPE_RUNTIME(cudaLaunchKernelExC_ptsz_v11060),
    CASTSCOPE_RUNTIME(cudaStreamBeginCaptureToGraph_v12030),
    CASTSCOPE_RUNTIME(cudaStreamBeginCaptureToGraph_ptsz_v12030),
#if CUPTI_API_VERSION >= 130000
    CASTSCOPE_RUNTIME(__cudaLaunchKernel_v13000),
    CASTSCOPE_RUNTIME(__cudaLaunchKernel_ptsz_v13000),
#endif
};
constexpr int kTheirDriver[] = {
    CASTSCOPE_DRIVER(cuLaunch),
    CASTSCOPE_DRIVER(cuLaunchGrid),
    CASTSCOPE_DRIVER(cuLaunchGridAsync),
    CASTSCOPE_DRIVER(cuMemcpyHtoD),
    CASTSCOPE_DRIVER(cuMemcpyDtoH),
    CASTSCOPE_DRIVER(cuMemcpyDtoD),
    CASTSCOPE_DRIVER(cuMemcpyHtoDAsync),
    CASTSCOPE_DRIVER(cuMemcpyDtoHAsync),
    CASTSCOPE_DRIVER(cuMemcpyDtoDAsync),
    CASTSCOPE_DRIVER(cuMemsetD8Async),
    CASTSCOPE_DRIVER(cuMemsetD16Async),
    CASTSCOPE_DRIVER(cuMemsetD32Async),
    CASTSCOPE_DRIVER(cuMemsetD2D8Async),
    CASTSCOPE_DRIVER(cuMemsetD2D16Async),
    CASTSCOPE_DRIVER(cuMemsetD2D32Async),
    CASTSCOPE_DRIVER(cuMemcpy_v2),
    CASTSCOPE_DRIVER(cuMemcpyHtoD_v2),
    CASTSCOPE_DRIVER(cuMemcpyHtoDAsync_v2),
    CASTSCOPE_DRIVER(cuMemcpyDtoH_v2),
    CASTSCOPE_DRIVER(cuMemcpyDtoHAsync_v2),
    CASTSCOPE_DRIVER(cuMemcpyDtoD_v2),
    CASTSCOPE_DRIVER(cuMemcpyDtoDAsync_v2),
    CASTSCOPE_DRIVER(cuMemcpy),
    CASTSCOPE_DRIVER(cuMemcpyAsync),
    CASTSCOPE_DRIVER(cuLaunchKernel),
    CASTSCOPE_DRIVER(cuMemcpyAsync_ptsz),
    CASTSCOPE_DRIVER(cuMemsetD8Async_ptsz),
    CASTSCOPE_DRIVER(cuMemsetD16Async_ptsz),
    CASTSCOPE_DRIVER(cuMemsetD32Async_ptsz),
    CASTSCOPE_DRIVER(cuMemsetD2D8Async_ptsz),
    CASTSCOPE_DRIVER(cuMemsetD2D16Async_ptsz),
    CASTSCOPE_DRIVER(cuMemsetD2D32Async_ptsz),
    CASTSCOPE_DRIVER(cuLaunchKernel_ptsz),
    CASTSCOPE_DRIVER(cuLaunchCooperativeKernel),
    CASTSCOPE_DRIVER(cuLaunchCooperativeKernel_ptsz),
    CASTSCOPE_DRIVER(cuLaunchCooperativeKernelMultiDevice),
    CASTSCOPE_DRIVER(cuGraphLaunch),
    CASTSCOPE_DRIVER(cuGraphLaunch_ptsz),
    CASTSCOPE_DRIVER(cuLaunchKernelEx),
    CASTSCOPE_DRIVER(cuLaunchKernelEx_ptsz),
};
template <std::size_t n, std::size_t m>
constexpr bool begins_with(const std::uint16_t (&ours)[n], const int (&theirs)[m]) {
  for (std::size_t i = 0; i < m; ++i)
    if (ours[i] != theirs[i]) return false;
  return true;
}
static_assert(begins_with(kLaunchingRuntime, kTheirRuntime));
static_assert(begins_with(kLaunchingDriver, kTheirDriver) && std::size(kLaunchingDriver) == std::size(kTheirDriver));
#if CUPTI_API_VERSION >= 130000
static_assert(std::size(kLaunchingRuntime) == std::size(kTheirRuntime));
#else
static_assert(std::size(kLaunchingRuntime) == std::size(kTheirRuntime) + 2);  // those of CUDA 13
#endif
static_assert(begins_capture(CASTSCOPE_RUNTIME(cudaStreamBeginCapture_v10000)) &&
              begins_capture(CASTSCOPE_RUNTIME(cudaStreamBeginCapture_ptsz_v10000)) &&
              begins_capture(CASTSCOPE_RUNTIME(cudaStreamBeginCaptureToGraph_v12030)) &&
              begins_capture(CASTSCOPE_RUNTIME(cudaStreamBeginCaptureToGraph_ptsz_v12030)) &&
              ends_capture(CASTSCOPE_RUNTIME(cudaStreamEndCapture_v10000)) &&
              ends_capture(CASTSCOPE_RUNTIME(cudaStreamEndCapture_ptsz_v10000)));

}  // namespace
}  // namespace castscope::gpu::cupti
