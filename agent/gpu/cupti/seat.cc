#include "agent/gpu/cupti/seat.h"

#include "agent/gpu/cupti/cupti.h"

namespace castscope::gpu {
namespace {

// Kernels are last: a launch before they are switched on is not recorded, a launch after it is.
constexpr cupti::ActivityKind kKinds[] = {cupti::kExternalCorrelation, cupti::kMemcpy, cupti::kPeerMemcpy,
                                          cupti::kMemset, cupti::kConcurrentKernel};

}  // namespace

Seat::Taken Seat::take(std::string* why) {
  is_gone_ = false;
  const cupti::Result subscribed = api_.subscribe(&subscriber_, callbacks_.resource, nullptr);
  if (subscribed != cupti::kSuccess) subscriber_ = nullptr;
  if (subscribed == cupti::kMultipleSubscribers && !job_.is_subscribed()) {
    *why = "another client of CUPTI";
    return Taken::kRefused;
  }
  // torch.profiler may stay subscribed when it is done: the records are free all the same.
  if (subscribed != cupti::kSuccess && subscribed != cupti::kMultipleSubscribers) {
    *why = words("cuptiSubscribe", subscribed);
    return Taken::kFailed;
  }
  ours_ = true;
  take_dropped();  // what was dropped before is not ours
  // The kinds that a client of the job's switched on and off took the choice of single functions along.
  if (functions_ == Functions::kSingly && job_.has_recorded()) functions_ = Functions::kChosen;
  if (api_.enable_runtime == nullptr || api_.enable_driver == nullptr) functions_ = Functions::kAll;
  cupti::Result result = api_.register_callbacks(callbacks_.requested, callbacks_.completed);
  const char* what = "cuptiActivityRegisterCallbacks";
  if (result == cupti::kSuccess) {
    what = "recording functions of CUDA";
    result = record_functions();
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

// The flush comes last: a buffer that stayed with CUPTI would take the records of the next client in the seat.
void Seat::leave() {
  if (is_gone()) {
    subscriber_ = nullptr;
    ours_ = false;
    return;
  }
  for (auto kind = std::end(kKinds); kind != std::begin(kKinds);) api_.disable(*--kind);
  stop_functions();
  flush(true);
  if (subscriber_ != nullptr) api_.unsubscribe(subscriber_);
  subscriber_ = nullptr;
  ours_ = false;
}

// A kind records all its functions from the moment it is switched on, so those that launch nothing are switched off
// singly.
cupti::Result Seat::record_functions() {
  recorded_ = functions_;
  if (recorded_ == Functions::kSingly) {
    cupti::record_launching(api_, true);
    return cupti::kSuccess;
  }
  cupti::Result result = api_.enable(cupti::kRuntime);
  if (result == cupti::kSuccess) result = api_.enable(cupti::kDriver);
  if (recorded_ == Functions::kAll || result != cupti::kSuccess) return result;
  for (std::uint32_t id = 1; id < cupti::kRuntimeFunctions; ++id)
    if (!cupti::launches_work(cupti::kRuntime, id)) api_.enable_runtime(id, 0);
  for (std::uint32_t id = 1; id < cupti::kDriverFunctions; ++id)
    if (!cupti::launches_work(cupti::kDriver, id)) api_.enable_driver(id, 0);
  return result;
}

void Seat::stop_functions() {
  if (recorded_ == Functions::kSingly) {
    cupti::record_launching(api_, false);
  } else {
    api_.disable(cupti::kRuntime);
    api_.disable(cupti::kDriver);
  }
}

void Seat::record_more(bool now) {
  if (functions_ == Functions::kAll) return;
  functions_ = functions_ == Functions::kSingly ? Functions::kChosen : Functions::kAll;
  if (now && ours_ && !is_gone()) record_functions();
}

void Seat::flush(bool forced) {
  if (!is_gone()) api_.flush_all(forced ? cupti::kFlushForced : 0);
}

std::uint64_t Seat::take_dropped() {
  std::size_t dropped = 0;
  if (is_gone()) return 0;
  return api_.dropped(nullptr, 0, &dropped) == cupti::kSuccess ? dropped : 0;
}

std::string Seat::words(const char* what, cupti::Result result) const {
  const char* name = nullptr;
  if (api_.result_string(result, &name) != cupti::kSuccess || name == nullptr) name = "an unknown error";
  return std::string(what) + ": " + name;
}

}  // namespace castscope::gpu
