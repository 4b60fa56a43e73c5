#include "agent/gpu/captures.h"

#include <array>
#include <exception>

#include "agent/gpu/imports.h"
#include "agent/observe/process.h"
#include "agent/operators/deep.h"

namespace castscope::gpu {

std::atomic<int> g_captures{0};

namespace {

using Stream = void*;
using Graph = void*;
using Error = int;  // cudaError_t

enum Function { kBegin, kBeginToGraph, kEnd, kFunctions };
extern std::array<Import, kFunctions> g_imports;

template <typename F>
F original(Function function) {
  return reinterpret_cast<F>(original_of(g_imports[function]));
}

void begins() noexcept try {
  if (observe::ThreadState* t = observe::thread_slot()) operators::capture_begins(*t);
} catch (const std::exception&) {  // no memory: what is captured is not looked at
}

void ends() noexcept try { operators::capture_ends(); } catch (const std::exception&) {
}

// Those that failed began nothing.
Error begun(Error error) {
  if (error == 0)
    g_captures.fetch_add(1);
  else
    ends();
  return error;
}

Error begin_capture(Stream stream, int mode) {
  begins();
  return begun(original<Error (*)(Stream, int)>(kBegin)(stream, mode));
}

Error begin_capture_to_graph(Stream stream, Graph graph, const void* dependencies, const void* data, std::size_t n,
                             int mode) {
  begins();
  return begun(original<Error (*)(Stream, Graph, const void*, const void*, std::size_t, int)>(kBeginToGraph)(
      stream, graph, dependencies, data, n, mode));
}

Error end_capture(Stream stream, Graph* graph) {
  const Error error = original<Error (*)(Stream, Graph*)>(kEnd)(stream, graph);
  // One that began before anybody looked is not counted.
  int captures = g_captures.load();
  while (captures > 0 && !g_captures.compare_exchange_weak(captures, captures - 1)) {
  }
  ends();
  return error;
}

std::array<Import, kFunctions> g_imports{{
    {"cudaStreamBeginCapture", reinterpret_cast<void*>(begin_capture)},
    {"cudaStreamBeginCaptureToGraph", reinterpret_cast<void*>(begin_capture_to_graph)},
    {"cudaStreamEndCapture", reinterpret_cast<void*>(end_capture)},
}};

}  // namespace

void watch_captures() {
  static auto* taken = new Imports(g_imports);  // never given back: a call may be on its way
  taken->take();
}

}  // namespace castscope::gpu
