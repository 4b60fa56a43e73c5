#include "agent/gpu/cupti/job_cupti.h"

#include <array>
#include <atomic>
#include <string>

#include "agent/gpu/cupti/cupti_abi.h"
#include "agent/imports/imports.h"
#include "agent/imports/loaded_objects.h"
#include "agent/lanes/segment_writer.h"
#include "agent/memory/own_memory.h"

namespace castscope::gpu {
namespace {

using cupti::Result;

JobClient g_client;
std::atomic<SeatHolder*> g_holder{nullptr};  // nullptr in a forked child

enum Function {
  kSubscribe,
  kSubscribeV2,
  kUnsubscribe,
  kRegisterCallbacks,
  kRegisterTimestamp,
  kEnable,
  kDisable,
  kSetAttribute,
  kFlushAll,
  kFinalize,
  kFunctions
};
extern std::array<imports::Import, kFunctions> g_imports;

template <typename F>
F original(Function function) {
  return reinterpret_cast<F>(imports::original_of(g_imports[function]));
}

// The name of the calling library: PyTorch has its profiler within libtorch_cpu.
std::string name_of(const void* caller) {
  const memory::OwnString object = imports::object_of(caller);
  if (object.starts_with("libtorch")) return "torch.profiler";
  return object.empty() ? "the job" : std::string(object);
}

[[gnu::noinline]] void leave_seat_to(const void* caller) try {
  if (SeatHolder* holder = g_holder.load())
    holder->job_wants_seat(name_of(caller).c_str());
  else if (!g_client.is_named())
    g_client.set_name(name_of(caller).c_str());
} catch (const std::exception&) {  // no memory for its name: the client still has the seat
}

void job_begins(const void* caller) {
  g_client.begins(lanes::monotonic_ns());
  leave_seat_to(caller);
}

Result subscribe(cupti::Subscriber* subscriber, cupti::Callback callback, void* user) {
  job_begins(__builtin_return_address(0));
  const Result result =
      original<Result (*)(cupti::Subscriber*, cupti::Callback, void*)>(kSubscribe)(subscriber, callback, user);
  if (result == cupti::kSuccess) g_client.subscribed();
  return result;
}

Result subscribe_v2(cupti::Subscriber* subscriber, cupti::Callback callback, void* user, void* parameters) {
  job_begins(__builtin_return_address(0));
  const Result result = original<Result (*)(cupti::Subscriber*, cupti::Callback, void*, void*)>(kSubscribeV2)(
      subscriber, callback, user, parameters);
  if (result == cupti::kSuccess) g_client.subscribed();
  return result;
}

Result unsubscribe(cupti::Subscriber subscriber) {
  g_client.unsubscribed();
  return original<Result (*)(cupti::Subscriber)>(kUnsubscribe)(subscriber);
}

Result register_callbacks(cupti::BufferRequested requested, cupti::BufferCompleted completed) {
  job_begins(__builtin_return_address(0));
  return original<Result (*)(cupti::BufferRequested, cupti::BufferCompleted)>(kRegisterCallbacks)(requested, completed);
}

Result register_timestamp(cupti::Timestamp timestamp) {
  job_begins(__builtin_return_address(0));
  return original<Result (*)(cupti::Timestamp)>(kRegisterTimestamp)(timestamp);
}

Result enable(cupti::ActivityKind kind) {
  job_begins(__builtin_return_address(0));
  g_client.enabled(kind);
  return original<Result (*)(cupti::ActivityKind)>(kEnable)(kind);
}

Result disable(cupti::ActivityKind kind) {
  const Result result = original<Result (*)(cupti::ActivityKind)>(kDisable)(kind);
  g_client.disabled(kind);
  return result;
}

// Some attributes must not be set while anything is recorded. Setting one does not mean that the client has begun
// anything: Kineto sets one back after it has fetched its records (CuptiActivityApi::activityBuffers, with CUDA 12.3
// and later).
Result set_attribute(int attribute, std::size_t* size, void* value) {
  leave_seat_to(__builtin_return_address(0));
  return original<Result (*)(int, std::size_t*, void*)>(kSetAttribute)(attribute, size, value);
}

Result flush_all(std::uint32_t flags) {
  const Result result = original<Result (*)(std::uint32_t)>(kFlushAll)(flags);
  g_client.flushed();
  return result;
}

// May run within a callback of CUPTI's, so CUPTI is asked for nothing here.
Result finalize() {
  if (SeatHolder* holder = g_holder.load()) holder->cupti_ends();
  const Result result = original<Result (*)()>(kFinalize)();
  g_client.finalized();
  return result;
}

template <typename F>
void* address(F* function) {
  return reinterpret_cast<void*>(function);
}

std::array<imports::Import, kFunctions> g_imports{{
    {"cuptiSubscribe", address(subscribe)},
    {"cuptiSubscribe_v2", address(subscribe_v2)},
    {"cuptiUnsubscribe", address(unsubscribe)},
    {"cuptiActivityRegisterCallbacks", address(register_callbacks)},
    {"cuptiActivityRegisterTimestampCallback", address(register_timestamp)},
    {"cuptiActivityEnable", address(enable)},
    {"cuptiActivityDisable", address(disable)},
    {"cuptiActivitySetAttribute", address(set_attribute)},
    {"cuptiActivityFlushAll", address(flush_all)},
    {"cuptiFinalize", address(finalize)},
}};

std::atomic<imports::Imports*> g_taken{nullptr};  // never taken away: a hook may run while the process ends

}  // namespace

void watch_job_cupti() {
  static auto* taken = new imports::Imports(g_imports);
  g_taken = taken;
  taken->take();
}

const JobClient& job_client() { return g_client; }

void leave_seat_to_job(SeatHolder& holder) { g_holder = &holder; }

void forget_job_cupti() { g_holder = nullptr; }

void hold_job_cupti() {
  if (imports::Imports* taken = g_taken.load()) taken->hold();
}
void release_job_cupti() {
  if (imports::Imports* taken = g_taken.load()) taken->release();
}

}  // namespace castscope::gpu
