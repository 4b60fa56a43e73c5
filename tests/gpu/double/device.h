// The virtual devices: streams on which each operation takes a time that depends only on the operation.
//
// Nothing is computed. An operation starts when it is launched, or when the operation before it on its stream ends, and
// its times are known at once; but it counts as complete only when the clock has passed its end, and synchronising
// means waiting for that.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

namespace nogpu {

struct Graph;
struct GraphNode;

enum class OperationKind : uint8_t { kKernel, kMemcpy, kMemset, kHost, kEmpty };

struct Operation {
  OperationKind kind = OperationKind::kKernel;
  const char* name = "";  // interned
  uint64_t duration = 0;
  std::array<uint32_t, 3> grid{1, 1, 1};
  std::array<uint32_t, 3> block{1, 1, 1};
  uint32_t shared_bytes = 0;
  uint8_t copy_kind = 0, from = 0, to = 0;  // as CUPTI numbers them
  uint64_t bytes = 0;
  uint32_t value = 0;            // of a memset
  std::function<void()> effect;  // the part that is really executed: copies, host functions
};

// An operation that a device was given, with its times.
struct Execution {
  const Operation& operation;
  int device;
  uint32_t stream;
  uint64_t start, end;
  uint32_t correlation;
  const char* api;
  uint64_t graph_node;
  uint32_t graph;
};

// The state of a stream that is being captured; all streams of one capture share it.
struct Capture {
  Graph* graph;
  uint64_t id;
};

struct Stream {
  int device = 0;
  uint32_t id = 0;
  int priority = 0;
  unsigned flags = 0;
  uint64_t end = 0;  // of the last operation
  std::shared_ptr<Capture> capture;
  bool captures_here = false;            // the stream on which the capture began
  std::vector<GraphNode*> capture_deps;  // the dependencies of the next captured operation
};

struct Context {
  int device = 0;
  uint32_t id = 0;
  bool made = false;
};

inline constexpr int kMostDevices = 8;

uint64_t now();
int device_count();
int& current_device();
// Held while streams, graphs and events are read or changed. It is never held while a client's callback runs.
std::mutex& device_lock();

// Returns the context of a device, which is made when it is first asked for.
Context* context_of(int device);
bool has_context(int device);

// The handles 0 and 1 mean the device's default stream, 2 means that of the calling thread.
Stream* stream_of(void* handle);
Stream* new_stream(int priority, unsigned flags);
Stream* numbered_stream(uint64_t number);
void delete_stream(Stream* stream);
uint64_t end_of(const Stream* stream);
uint64_t end_of_device(int device);
void wait_until(uint64_t time);

const char* interned(std::string_view text);
// The duration is 2,000 ns, up to 499 ns more by the name's hash, and 4 ns a block, up to a millisecond.
uint64_t kernel_duration(std::string_view name, uint64_t blocks);
uint64_t copy_duration(uint64_t bytes, bool within_device);
uint64_t memset_duration(uint64_t bytes);
uint64_t operation_count();

// Gives the operation to the stream on behalf of the API call; while the stream is captured it becomes a node.
void submit(Stream* stream, Operation operation, uint32_t correlation, const char* api);
// Does the same, but ignores captures: the node is replayed. It starts no sooner than `earliest`; returns its end.
uint64_t execute(Stream* stream, const Operation& operation, uint64_t earliest, uint32_t correlation, const char* api,
                 uint64_t graph_node, uint32_t graph);

}  // namespace nogpu
