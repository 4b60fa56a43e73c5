// The runtime's double: streams and events.
#include <algorithm>
#include <atomic>
#include <optional>

#include "cudart_state.h"
#include "cupti_records.h"

using namespace nogpu;

namespace {

cudaStream_t handle_of(Stream* stream) { return reinterpret_cast<cudaStream_t>(stream); }

void record_stream_sync(const ApiCall& call, const Stream* stream, CUpti_ActivitySynchronizationType type,
                        uint32_t event = CUPTI_SYNCHRONIZATION_INVALID_VALUE) {
  const uint32_t context = context_of(stream->device)->id;
  record_synchronization({type, call.start(), call.correlation(), context, stream->id, event});
}

void record_event(Event* event, Stream* stream) {
  context_of(stream->device);
  std::lock_guard guard(device_lock());
  event->recorded = true;
  event->device = stream->device;
  event->capture = stream->capture;
  event->dependencies = stream->capture_deps;
  event->time = std::max(now(), stream->end);
}

// Returns nothing if the event was not recorded.
std::optional<uint64_t> time_of(const Event* event) {
  std::lock_guard guard(device_lock());
  return event->recorded ? std::optional(event->time) : std::nullopt;
}

// A stream that waits for an event of a capture joins it.
void wait_for_event(Stream* stream, const Event* event) {
  std::lock_guard guard(device_lock());
  if (event->capture && event->capture->graph != nullptr) {
    if (stream->capture != event->capture) stream->capture_deps.clear();
    stream->capture = event->capture;
    for (GraphNode* node : event->dependencies) {
      if (std::ranges::find(stream->capture_deps, node) == stream->capture_deps.end()) {
        stream->capture_deps.push_back(node);
      }
    }
  } else if (event->recorded) {
    stream->end = std::max(stream->end, event->time);
  }
}

cudaError_t make_event(ApiCall& call, cudaEvent_t* event, unsigned flags) {
  static std::atomic<uint32_t> next{1};
  auto* made = new Event;
  made->id = next.fetch_add(1);
  made->flags = flags;
  made->device = current_device();
  *event = reinterpret_cast<cudaEvent_t>(made);
  return done(call);
}

}  // namespace

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaStreamCreate_v3020);
  *stream = handle_of(new_stream(0, 0));
  return done(call);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaStreamCreateWithFlags_v5000);
  *stream = handle_of(new_stream(0, flags));
  return done(call);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaStreamCreateWithPriority_v5050);
  *stream = handle_of(new_stream(std::clamp(priority, -5, 0), flags));
  return done(call);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaStreamDestroy_v5050);
  delete_stream(stream_of(stream));
  return done(call);
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaStreamGetPriority_v5050);
  *priority = stream_of(stream)->priority;
  return done(call);
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaStreamQuery_v3020);
  return done(call, end_of(stream_of(stream)) <= now() ? cudaSuccess : cudaErrorNotReady);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020);
  wait_until(end_of(stream_of(stream)));
  record_stream_sync(call, stream_of(stream), CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE);
  return done(call);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaStreamWaitEvent_v3020);
  wait_for_event(stream_of(stream), event_of(event));
  record_stream_sync(call, stream_of(stream), CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT,
                     event_of(event)->id);
  return done(call);
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaEventCreate_v3020);
  return make_event(call, event, 0);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaEventCreateWithFlags_v3020);
  return make_event(call, event, flags);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaEventDestroy_v3020);
  delete event_of(event);
  return done(call);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaEventRecord_v3020);
  record_event(event_of(event), stream_of(stream));
  return done(call);
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaEventRecordWithFlags_v11010);
  record_event(event_of(event), stream_of(stream));
  return done(call);
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaEventQuery_v3020);
  return done(call, time_of(event_of(event)).value_or(0) <= now() ? cudaSuccess : cudaErrorNotReady);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaEventSynchronize_v3020);
  const Event* asked = event_of(event);
  wait_until(time_of(asked).value_or(0));
  record_synchronization({CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE, call.start(), call.correlation(),
                          context_of(asked->device)->id, CUPTI_SYNCHRONIZATION_INVALID_VALUE, asked->id});
  return done(call);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaEventElapsedTime_v12080);
  const auto first = time_of(event_of(start)), last = time_of(event_of(end));
  if (!first || !last) return done(call, cudaErrorInvalidResourceHandle);
  if (*last > now() || *first > now()) return done(call, cudaErrorNotReady);
  *milliseconds = static_cast<float>(static_cast<double>(static_cast<int64_t>(*last - *first)) / 1e6);
  return done(call);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchHostFunc_v10000);
  Operation host;
  host.kind = OperationKind::kHost;
  host.effect = [=] { function(data); };
  submit(stream_of(stream), std::move(host), call.correlation(), call.name());
  return done(call);
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void* data, unsigned) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaStreamAddCallback_v5000);
  Operation host;
  host.kind = OperationKind::kHost;
  host.effect = [=] { function(stream, cudaSuccess, data); };
  submit(stream_of(stream), std::move(host), call.correlation(), call.name());
  return done(call);
}
