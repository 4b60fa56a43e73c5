#include "agent/session/threads.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <exception>
#include <string>
#include <utility>

#include "agent/session/marks.h"
#include "agent/session/process.h"
#include "agent/session/recording.h"
#include "agent/torch/autocast_state.h"
#include "agent/torchscript/interpreter_state.h"
#include "agent/wiring/features.h"

namespace castscope::agent {
namespace {

constexpr std::uint32_t kMostNamedThreads = 1u << 14;
std::atomic<std::uint32_t> g_named_threads{0};  // in this recording

pthread_key_t g_thread_key;

// In the first thread of a forked child: the thread's state in the parent. Leaked, since its lane lies in the parent's
// segment.
thread_local const ThreadState* t_before_fork = nullptr;

void give_up_thread(void* state) {
  auto* t = static_cast<ThreadState*>(state);
  thread_slot() = nullptr;
  if (Recording* r = g_process.recording.load()) {
    try {
      g_features.thread_ends(*t);
      for (const OpenRegion& region : t->open)
        if (region.enabled) r->enabled_regions.fetch_sub(1, std::memory_order_relaxed);
      t->sites.for_each([&](const SiteEntry& row) { r->modules.give_back(row.module_weakref); });
    } catch (const std::exception&) {  // no memory to note them in: they stay in use
    }
    if (!t->open.empty()) r->steps.outermost_exit(t->entered_in);
    r->segment.release_lane(&t->lane.lane());
  }
  delete t;
}

std::string thread_name() {
  char name[32] = "";
  pthread_getname_np(pthread_self(), name, sizeof name);
  return name;
}

ThreadState* try_make_thread_state() {
  meet_python();
  Recording* r = make_recording();
  if (r == nullptr) return nullptr;
  const auto tid = static_cast<std::uint32_t>(syscall(SYS_gettid));
  lanes::Lane* lane = r->segment.acquire_lane(tid);
  auto* t = new ThreadState(r->segment, *lane);
  // A lane taken over from an ended thread already has counters: this thread goes on with them.
  std::uint64_t left = lane->n_counters.load(std::memory_order_relaxed);
  for (std::uint64_t o = lane->first_counters.load(std::memory_order_relaxed); o != 0 && left > 0;) {
    auto* block = r->segment.at<lanes::CounterBlock>(o);
    for (std::uint32_t i = 0; i < lanes::kCountersPerBlock && left > 0; ++i, --left)
      t->counters.emplace(block->counters[i].site.load(std::memory_order_relaxed), &block->counters[i]);
    o = block->next.load(std::memory_order_relaxed);
  }
  if (g_process.has_python || g_process.python_unproved) t->python_thread = lasting_thread(g_process.python);
  t->span = g_process.span.load(std::memory_order_relaxed);
  t->autograd = autograd_state();
  t->script = script::running();
  t->cache_enabled = autocast_cache_enabled();
  for (std::uint8_t device = 0; device < 21; ++device) t->enabled_by_raw[device] = autocast_enabled(device) ? 1 : 0;
  thread_slot() = t;
  pthread_setspecific(g_thread_key, t);
  // A job may start threads for ever: beyond some number they get no names of their own.
  const bool has_name = lane->id != 0 && g_named_threads.fetch_add(1, std::memory_order_relaxed) < kMostNamedThreads;
  mark(*t, lanes::EventKind::kThread, has_name ? r->definitions.thread(lane->id, tid, thread_name()) : 0);
  // Hooks make the state before PyTorch's own function is called, or after a setter, which holds no lock.
  if (const ThreadState* before = std::exchange(t_before_fork, nullptr))
    g_features.thread_goes_on(MayWait::no_lock_held(), *t, *before);
  return t;
}

}  // namespace

ThreadState* make_thread_state() {
  if (g_process.silent()) return nullptr;
  try {
    return try_make_thread_state();
  } catch (const std::exception& e) {
    step_aside_without_memory(e);
    return nullptr;
  }
}

// If no key is left for us, key 0 belongs to somebody else.
bool watch_thread_ends() { return pthread_key_create(&g_thread_key, give_up_thread) == 0; }

void threads_child_begins() {
  if (ThreadState* t = thread_slot()) {
    thread_slot() = nullptr;
    pthread_setspecific(g_thread_key, nullptr);
    t_before_fork = t;
  }
  g_named_threads = 0;
}

}  // namespace castscope::agent
