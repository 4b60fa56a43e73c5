#include "agent/gpu/captures.h"

#include <array>
#include <exception>

#include "agent/imports/imports.h"
#include "agent/session/process.h"
#include "agent/wiring/features.h"

namespace castscope::gpu {

std::atomic<int> g_captures{0};

namespace {

using StreamOfJob = void*;
using Graph = void*;
using Error = int;  // cudaError_t

constexpr std::uint64_t kGraphIsMadeWithinNs = 1'000'000'000;

std::atomic<bool> g_captured_any{false};
std::atomic<std::uint64_t> g_ended_ns{0};  // 0: the last capture was made a graph by now
std::atomic<imports::Imports*> g_taken{nullptr};

// "PerThread" variants are those that code calls whose default stream is its thread's own.
enum Function {
  kBegin,
  kBeginPerThread,
  kBeginToGraph,
  kBeginToGraphPerThread,
  kEnd,
  kEndPerThread,
  kMake,
  kMakeWithFlags,
  kMakeWithParams,
  kFunctions
};
extern std::array<imports::Import, kFunctions> g_imports;

template <typename F>
F original(Function function) {
  return reinterpret_cast<F>(imports::original_of(g_imports[function]));
}

// The thread may not have been seen before, if all it does is capture. A capture is not a reason to begin a recording.
void begins() noexcept try {
  if (agent::g_process.recording.load() == nullptr) return;
  if (agent::ThreadState* t = agent::thread_state()) g_features.capture_begins(*t);
} catch (const std::exception&) {  // no memory: the capture is not looked at
}

void ends() noexcept try { g_features.capture_ends(); } catch (const std::exception&) {
}

// A capture is counted before it begins, so that nobody meanwhile asks CUDA for anything that a capture forbids, and
// after the seat was taken for it.
void about_to_begin() {
  g_captured_any = true;
  begins();
  g_captures.fetch_add(1);
}

// Graphs may be captured in several threads at once, and within each other (the branches of a conditional node).
void one_is_over() {
  // A capture that began before captures were watched is not counted.
  int captures = g_captures.load();
  while (captures > 0 && !g_captures.compare_exchange_weak(captures, captures - 1)) {
  }
  if (captures <= 1) ends();
}

// A begin that failed began no capture.
Error begun(Error error) {
  if (error != 0) one_is_over();
  return error;
}

template <Function kFunction>
Error begin_capture(StreamOfJob stream, int mode) {
  about_to_begin();
  return begun(original<Error (*)(StreamOfJob, int)>(kFunction)(stream, mode));
}

template <Function kFunction>
Error begin_capture_to_graph(StreamOfJob stream, Graph graph, const void* dependencies, const void* data, std::size_t n,
                             int mode) {
  about_to_begin();
  return begun(original<Error (*)(StreamOfJob, Graph, const void*, const void*, std::size_t, int)>(kFunction)(
      stream, graph, dependencies, data, n, mode));
}

template <Function kFunction>
Error end_capture(StreamOfJob stream, Graph* graph) {
  const Error error = original<Error (*)(StreamOfJob, Graph*)>(kFunction)(stream, graph);
  if (error == 0) g_ended_ns = lanes::monotonic_ns();
  one_is_over();
  return error;
}

// Makes a graph that can be replayed. CUDA 11's cudaGraphInstantiate has two more arguments than later ones, which are
// passed on as they lie in their registers.
template <Function kFunction>
Error make(void* made, Graph graph, std::uintptr_t third, std::uintptr_t fourth, std::uintptr_t fifth) {
  using Make = Error (*)(void*, Graph, std::uintptr_t, std::uintptr_t, std::uintptr_t);
  const Error error = original<Make>(kFunction)(made, graph, third, fourth, fifth);
  g_ended_ns = 0;
  return error;
}

template <typename F>
void* address(F* function) {
  return reinterpret_cast<void*>(function);
}

std::array<imports::Import, kFunctions> g_imports{{
    {"cudaStreamBeginCapture", address(begin_capture<kBegin>)},
    {"cudaStreamBeginCapture_ptsz", address(begin_capture<kBeginPerThread>)},
    {"cudaStreamBeginCaptureToGraph", address(begin_capture_to_graph<kBeginToGraph>)},
    {"cudaStreamBeginCaptureToGraph_ptsz", address(begin_capture_to_graph<kBeginToGraphPerThread>)},
    {"cudaStreamEndCapture", address(end_capture<kEnd>)},
    {"cudaStreamEndCapture_ptsz", address(end_capture<kEndPerThread>)},
    {"cudaGraphInstantiate", address(make<kMake>)},
    {"cudaGraphInstantiateWithFlags", address(make<kMakeWithFlags>)},
    {"cudaGraphInstantiateWithParams", address(make<kMakeWithParams>)},
}};

}  // namespace

bool captured_any() { return g_captured_any; }

bool is_graph_awaited(std::uint64_t now_ns) {
  const std::uint64_t ended = g_ended_ns;
  return ended != 0 && now_ns - ended < kGraphIsMadeWithinNs;
}

void watch_captures() {
  static auto* taken = new imports::Imports(g_imports);  // never given back: a call may be on its way
  g_taken = taken;
  taken->take();
}

void hold_captures() {
  if (imports::Imports* taken = g_taken.load()) taken->hold();
}
void release_captures() {
  if (imports::Imports* taken = g_taken.load()) taken->release();
}

}  // namespace castscope::gpu
