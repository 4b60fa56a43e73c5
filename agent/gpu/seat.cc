#include "agent/gpu/seat.h"

namespace castscope::gpu {
namespace {

// The kernels last: what is launched before is not told, after it the launch is.
constexpr cupti::ActivityKind kKinds[] = {cupti::kExternalCorrelation, cupti::kMemcpy, cupti::kMemset,
                                          cupti::kConcurrentKernel};

}  // namespace

Seat::Taken Seat::take(bool all_functions, std::string* why) {
  const cupti::Result subscribed = api_.subscribe(&subscriber_, callbacks_.resource, nullptr);
  if (subscribed != cupti::kSuccess) subscriber_ = nullptr;
  if (subscribed == cupti::kMultipleSubscribers && !job_subscribed_) {
    *why = "another client of CUPTI";
    return Taken::kRefused;
  }
  // torch.profiler may stay subscribed when it is through: the records are free all the same.
  if (subscribed != cupti::kSuccess && subscribed != cupti::kMultipleSubscribers) {
    *why = words("cuptiSubscribe", subscribed);
    return Taken::kFailed;
  }
  ours_ = true;
  all_functions_ = all_functions || api_.enable_runtime == nullptr || api_.enable_driver == nullptr;
  cupti::Result result = api_.register_callbacks(callbacks_.requested, callbacks_.completed);
  const char* what = "cuptiActivityRegisterCallbacks";
  if (result == cupti::kSuccess) {
    what = "recording functions of CUDA";
    result = switch_functions(true, all_functions_);
  }
  for (const cupti::ActivityKind kind : kKinds) {
    if (result != cupti::kSuccess) break;
    what = "cuptiActivityEnable";
    result = api_.enable(kind);
  }
  if (result != cupti::kSuccess) {
    *why = words(what, result);
    leave();
    return Taken::kFailed;
  }
  if (subscriber_ != nullptr && api_.graph_node_id != nullptr)
    for (const std::uint32_t callback : {cupti::kGraphNodeCreated, cupti::kGraphNodeCloned})
      api_.enable_callback(1, subscriber_, cupti::kResourceDomain, callback);
  return Taken::kYes;
}

void Seat::leave() {
  for (auto kind = std::end(kKinds); kind != std::begin(kKinds);) api_.disable(*--kind);
  switch_functions(false, all_functions_);
  if (subscriber_ != nullptr) api_.unsubscribe(subscriber_);
  subscriber_ = nullptr;
  ours_ = false;
}

// A function that this CUPTI does not know is none that it could record: what it answers to one does not matter.
cupti::Result Seat::switch_functions(bool on, bool all) {
  if (!all) {
    for (const std::uint16_t function : cupti::kLaunchingRuntime) api_.enable_runtime(function, on);
    for (const std::uint16_t function : cupti::kLaunchingDriver) api_.enable_driver(function, on);
    return cupti::kSuccess;
  }
  const auto change = on ? api_.enable : api_.disable;
  const cupti::Result runtime = change(cupti::kRuntime);
  return runtime == cupti::kSuccess ? change(cupti::kDriver) : runtime;
}

std::uint64_t Seat::take_dropped() {
  std::size_t dropped = 0;
  return api_.dropped(nullptr, 0, &dropped) == cupti::kSuccess ? dropped : 0;
}

std::string Seat::words(const char* what, cupti::Result result) const {
  const char* name = nullptr;
  if (api_.result_string(result, &name) != cupti::kSuccess || name == nullptr) name = "an unknown error";
  return std::string(what) + ": " + name;
}

void Seat::job_enabled(int kind) { job_kinds_.fetch_or(bit(kind)); }

void Seat::job_disabled(int kind) {
  const std::uint64_t before = job_kinds_.fetch_and(~bit(kind));
  if (before != 0 && (before & ~bit(kind)) == 0) job_has_unfetched_ = true;
}

void Seat::job_flushed() {
  if (job_kinds_.load() == 0) job_has_unfetched_ = false;
}

void Seat::job_finalized() {
  job_kinds_ = 0;
  job_has_unfetched_ = false;
  job_subscribed_ = false;
}

bool Seat::job_has_it(std::uint64_t now_ns) const {
  if (job_kinds_.load(std::memory_order_relaxed) != 0) return true;
  return job_has_unfetched_.load(std::memory_order_relaxed) &&
         now_ns - last_call_ns_.load(std::memory_order_relaxed) < kLetGoNs;
}

}  // namespace castscope::gpu
