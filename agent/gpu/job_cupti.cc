#include "agent/gpu/job_cupti.h"

#include <array>
#include <atomic>
#include <string>

#include "agent/gpu/imports.h"
#include "agent/gpu/loaded_objects.h"
#include "agent/gpu/timing.h"

namespace castscope::gpu {
namespace {

using cupti::Result;

std::atomic<Timing*> g_timing{nullptr};  // nullptr in a forked child

enum Function {
  kSubscribe,
  kSubscribeV2,
  kUnsubscribe,
  kRegisterCallbacks,
  kRegisterTimestamp,
  kEnable,
  kDisable,
  kFlushAll,
  kFinalize,
  kFunctions
};
extern std::array<Import, kFunctions> g_imports;

template <typename F>
F original(Function function) {
  return reinterpret_cast<F>(original_of(g_imports[function]));
}

// Which library asks: PyTorch has its profiler within libtorch_cpu.
std::string name_of(const void* caller) {
  const memory::OwnString object = object_of(caller);
  if (object.starts_with("libtorch")) return "torch.profiler";
  return object.empty() ? "the job" : std::string(object);
}

[[gnu::noinline]] void job_wants_seat(const void* caller) try {
  if (Timing* timing = g_timing.load()) timing->job_wants_seat(name_of(caller).c_str());
} catch (const std::exception&) {  // no memory for its name: it has the seat all the same
}

template <typename Report, typename... Arguments>
void tell(Report report, Arguments... arguments) {
  if (Timing* timing = g_timing.load()) (timing->seat().*report)(arguments...);
}

Result subscribe(cupti::Subscriber* subscriber, cupti::Callback callback, void* user) {
  job_wants_seat(__builtin_return_address(0));
  const Result result =
      original<Result (*)(cupti::Subscriber*, cupti::Callback, void*)>(kSubscribe)(subscriber, callback, user);
  if (result == cupti::kSuccess) tell(&Seat::job_subscribed);
  return result;
}

Result subscribe_v2(cupti::Subscriber* subscriber, cupti::Callback callback, void* user, void* parameters) {
  job_wants_seat(__builtin_return_address(0));
  const Result result = original<Result (*)(cupti::Subscriber*, cupti::Callback, void*, void*)>(kSubscribeV2)(
      subscriber, callback, user, parameters);
  if (result == cupti::kSuccess) tell(&Seat::job_subscribed);
  return result;
}

Result unsubscribe(cupti::Subscriber subscriber) {
  tell(&Seat::job_unsubscribed);
  return original<Result (*)(cupti::Subscriber)>(kUnsubscribe)(subscriber);
}

Result register_callbacks(cupti::BufferRequested requested, cupti::BufferCompleted completed) {
  job_wants_seat(__builtin_return_address(0));
  return original<Result (*)(cupti::BufferRequested, cupti::BufferCompleted)>(kRegisterCallbacks)(requested, completed);
}

Result register_timestamp(cupti::Timestamp timestamp) {
  job_wants_seat(__builtin_return_address(0));
  return original<Result (*)(cupti::Timestamp)>(kRegisterTimestamp)(timestamp);
}

Result enable(cupti::ActivityKind kind) {
  job_wants_seat(__builtin_return_address(0));
  tell(&Seat::job_enabled, kind);
  return original<Result (*)(cupti::ActivityKind)>(kEnable)(kind);
}

Result disable(cupti::ActivityKind kind) {
  const Result result = original<Result (*)(cupti::ActivityKind)>(kDisable)(kind);
  tell(&Seat::job_disabled, kind);
  return result;
}

Result flush_all(std::uint32_t flags) {
  const Result result = original<Result (*)(std::uint32_t)>(kFlushAll)(flags);
  tell(&Seat::job_flushed);
  return result;
}

Result finalize() {
  const Result result = original<Result (*)()>(kFinalize)();
  tell(&Seat::job_finalized);
  return result;
}

template <typename F>
void* address(F* function) {
  return reinterpret_cast<void*>(function);
}

std::array<Import, kFunctions> g_imports{{
    {"cuptiSubscribe", address(subscribe)},
    {"cuptiSubscribe_v2", address(subscribe_v2)},
    {"cuptiUnsubscribe", address(unsubscribe)},
    {"cuptiActivityRegisterCallbacks", address(register_callbacks)},
    {"cuptiActivityRegisterTimestampCallback", address(register_timestamp)},
    {"cuptiActivityEnable", address(enable)},
    {"cuptiActivityDisable", address(disable)},
    {"cuptiActivityFlushAll", address(flush_all)},
    {"cuptiFinalize", address(finalize)},
}};

Imports* g_taken = nullptr;  // never taken away: a hook may run while the process ends

}  // namespace

void watch_job_cupti(Timing& timing) {
  g_timing = &timing;
  if (g_taken == nullptr) g_taken = new Imports(g_imports);
  g_taken->take();
}

void forget_job_cupti() { g_timing = nullptr; }

void hold_job_cupti() {
  if (g_taken != nullptr) g_taken->hold();
}
void release_job_cupti() {
  if (g_taken != nullptr) g_taken->release();
}

}  // namespace castscope::gpu
