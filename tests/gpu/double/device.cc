#include "device.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <string>
#include <unordered_set>

#include "cupti_records.h"
#include "graph.h"
#include "log.h"
#include "subscriber.h"

namespace nogpu {
namespace {

constexpr uint32_t kDefaultStreamId = 7;  // the number that CUPTI uses

struct Devices {
  std::mutex lock;
  std::array<Context, kMostDevices> contexts;
  std::array<Stream, kMostDevices> default_streams;
  std::unordered_set<Stream*> streams;
  std::map<uint64_t, Stream*> numbered;
  std::atomic<uint32_t> next_stream{13};
  std::atomic<uint64_t> operations{0};
  std::unordered_set<std::string> names;
  std::mutex names_lock;

  Devices() {
    for (int device = 0; device < kMostDevices; ++device) {
      contexts[device].device = default_streams[device].device = device;
      contexts[device].id = device + 1;
      default_streams[device].id = kDefaultStreamId;
    }
  }
};

// It is leaked, as all state here: the process's last calls come after destructors.
Devices& devices() {
  static Devices* all = new Devices;
  return *all;
}

Stream* stream_of_thread() {
  thread_local std::array<Stream*, kMostDevices> mine{};
  Stream*& stream = mine[current_device()];
  if (stream == nullptr) stream = new_stream(0, 0);
  return stream;
}

}  // namespace

uint64_t now() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

int device_count() {
  static const int count = [] {
    const char* asked = std::getenv("CASTSCOPE_NOGPU_DEVICES");
    return asked == nullptr ? 1 : std::clamp(std::atoi(asked), 0, kMostDevices);
  }();
  return count;
}

int& current_device() {
  thread_local int device = 0;
  return device;
}

std::mutex& device_lock() { return devices().lock; }

Context* context_of(int device) {
  Context* context = &devices().contexts[device];
  {
    std::lock_guard guard(device_lock());
    if (context->made) return context;
    context->made = true;
  }
  context_is_made();
  tell_context_created(context);
  return context;
}

bool has_context(int device) {
  std::lock_guard guard(device_lock());
  return devices().contexts[device].made;
}

Stream* stream_of(void* handle) {
  const auto number = reinterpret_cast<uintptr_t>(handle);
  if (number == 2) return stream_of_thread();
  if (number <= 1) return &devices().default_streams[current_device()];
  return static_cast<Stream*>(handle);
}

Stream* new_stream(int priority, unsigned flags) {
  auto* stream = new Stream;
  stream->device = current_device();
  stream->id = devices().next_stream.fetch_add(1);
  stream->priority = priority;
  stream->flags = flags;
  std::lock_guard guard(device_lock());
  devices().streams.insert(stream);
  return stream;
}

Stream* numbered_stream(uint64_t number) {
  if (number == 0) return stream_of(nullptr);
  {
    std::lock_guard guard(device_lock());
    if (auto found = devices().numbered.find(number); found != devices().numbered.end()) return found->second;
  }
  Stream* stream = new_stream(0, 0);
  stream->id = static_cast<uint32_t>(number);
  std::lock_guard guard(device_lock());
  return devices().numbered.emplace(number, stream).first->second;
}

void delete_stream(Stream* stream) {
  std::lock_guard guard(device_lock());
  if (devices().streams.erase(stream) != 0) delete stream;
}

uint64_t end_of(const Stream* stream) {
  std::lock_guard guard(device_lock());
  return stream->end;
}

uint64_t end_of_device(int device) {
  std::lock_guard guard(device_lock());
  uint64_t end = devices().default_streams[device].end;
  for (const Stream* stream : devices().streams) {
    if (stream->device == device) end = std::max(end, stream->end);
  }
  return end;
}

void wait_until(uint64_t time) {
  const timespec until{static_cast<time_t>(time / 1'000'000'000), static_cast<long>(time % 1'000'000'000)};
  while (now() < time && clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

const char* interned(std::string_view text) {
  std::lock_guard guard(devices().names_lock);
  return devices().names.emplace(text).first->c_str();
}

uint64_t kernel_duration(std::string_view name, uint64_t blocks) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const char letter : name) hash = (hash ^ static_cast<uint8_t>(letter)) * 1099511628211u;
  return 2000 + hash % 500 + std::min<uint64_t>(4 * blocks, 1'000'000);
}

// The speed is 20 bytes a nanosecond over the bus, and 1,000 within a device.
uint64_t copy_duration(uint64_t bytes, bool within_device) { return 1500 + bytes / (within_device ? 1000 : 20); }

uint64_t memset_duration(uint64_t bytes) { return 1200 + bytes / 1000; }

uint64_t operation_count() { return devices().operations.load(); }

void submit(Stream* stream, Operation operation, uint32_t correlation, const char* api) {
  context_of(stream->device);
  if (capture_into_graph(stream, operation)) return;
  execute(stream, operation, now(), correlation, api, 0, 0);
}

uint64_t execute(Stream* stream, const Operation& operation, uint64_t earliest, uint32_t correlation, const char* api,
                 uint64_t graph_node, uint32_t graph) {
  if (operation.effect) operation.effect();
  uint64_t start = 0, end = 0;
  {
    std::lock_guard guard(device_lock());
    start = std::max(earliest, stream->end);
    end = start + operation.duration;
    // Nodes of a graph run as their dependencies allow; the stream continues when the last of them is done.
    if (graph_node == 0) stream->end = end;
  }
  if (operation.kind == OperationKind::kHost || operation.kind == OperationKind::kEmpty) return end;
  devices().operations.fetch_add(1);
  const Execution execution{operation, stream->device, stream->id, start, end, correlation, api, graph_node, graph};
  log_execution(execution);
  record_execution(execution);
  return end;
}

}  // namespace nogpu
