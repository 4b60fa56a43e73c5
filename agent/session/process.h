// The data that the traced process has once: the seams, the definitions, the segment. Made when the agent starts,
// filled at the first event, remade in a forked child. Leaked on purpose: threads may still be in a hook while the
// process exits.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>

#include "agent/interposed/interface.h"
#include "agent/naming/call_sites.h"
#include "agent/naming/definitions.h"
#include "agent/naming/module_names.h"
#include "agent/naming/native_place.h"
#include "agent/session/cast_nodes.h"
#include "agent/session/kept_sources.h"
#include "agent/session/script_weights.h"
#include "agent/session/steps.h"
#include "agent/session/thread_state.h"
#include "agent/session/weight_versions.h"

namespace castscope::agent {

// Everything that belongs to one segment.
struct Recording {
  explicit Recording(const PythonApi& api, lanes::SegmentWriter& writer)
      : segment(writer), definitions(api, writer), modules(api, definitions), call_sites(definitions) {}
  lanes::SegmentWriter& segment;
  Definitions definitions;
  ModuleNames modules;
  CallSites call_sites;
  Steps steps;
  WeightVersions weights;
  NativeFunctions native_functions;
  KeptSources kept_sources;
  ScriptWeights script_weights;
  CastNodes cast_nodes;
  std::atomic<std::uint32_t> region_serial{0};
  std::atomic<std::int32_t> enabled_regions{0};    // open regions that have autocast on, in all threads
  std::atomic<std::uint32_t> errors{0};            // different errors that were told
  std::atomic<bool> trains{false};                 // backward has been called
  std::atomic<std::int32_t> cache_off_regions{0};  // open regions with autocast on and the cache off, in all threads
};

struct Process {
  const castscope_preload* preload = nullptr;
  PythonApi python{};
  std::atomic<bool> has_python{false};       // there is one, and its stack can be read
  std::atomic<bool> python_unproved{false};  // there is one, but no call has come yet that could prove how to read it
  std::ptrdiff_t thread_slot = 0;            // offset of the preload's thread-local word from the thread pointer
  std::atomic<Recording*> recording{nullptr};
  std::atomic<bool> stopped{false};  // trouble was said; hooks only forward
  // Nobody wants to watch at present (start/attaching.h): hooks that are called all the same only forward.
  std::atomic<bool> away{false};
  std::atomic<std::uint32_t> span{1};  // how often castscope began to watch
  bool silent() const { return stopped.load(std::memory_order_relaxed) || away.load(std::memory_order_relaxed); }
  bool forked = false;         // this is a forked child: it gets a small ring
  bool keeps_casting = false;  // a policy is enforced: it holds, whatever becomes of the record
};

extern Process g_process;

// From here on PyTorch calls `function`. Any thread may be calling meanwhile: what was set up before is seen by it.
inline void put_hook(int hook, void* function) {
  __atomic_store_n(&g_process.preload->slots[hook], function, __ATOMIC_RELEASE);
}

inline ThreadState*& thread_slot() {
  return *reinterpret_cast<ThreadState**>(static_cast<char*>(__builtin_thread_pointer()) + g_process.thread_slot);
}

// The calling thread's state. It is made at first need, together with the process's segment. nullptr when castscope has
// stepped aside.
ThreadState* make_thread_state();
inline ThreadState* thread_state() {
  ThreadState* t = thread_slot();
  return t != nullptr ? t : make_thread_state();
}

// Begins to read Python's stack at the first call that comes from Python code. That need not be the first call of all:
// a program in C++ may bring a Python that it initializes late or never, and a library may call from a thread of its
// own.
void prove_python();
inline void meet_python() {
  if (g_process.python_unproved.load(std::memory_order_relaxed)) [[unlikely]]
    prove_python();
}

// Adds a line to the agent's log, which CASTSCOPE_LOG=debug switches on. For what happens a few times in a process, not
// once a cast.
[[gnu::format(printf, 1, 2)]] void log_line(const char* format, ...) noexcept;

// Says one sentence and lets go of every hook. The job runs on. This needs no memory: there may be none.
void step_aside(const char* sentence) noexcept;
void step_aside_without_memory(const std::exception& e) noexcept;

}  // namespace castscope::agent
