// The agent's life: started by preload in the moment in which libtorch is loaded, a segment at the first event, a
// fresh start in a forked child, an end mark at exit. Nothing is torn down: threads may still be inside a hook.
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "agent/compile/compile.h"
#include "agent/enforce/enforcing.h"
#include "agent/gpu/gpu.h"
#include "agent/memory/own_memory.h"
#include "agent/observe/annotations.h"
#include "agent/observe/arrivals.h"
#include "agent/observe/autocast_state.h"
#include "agent/observe/errors.h"
#include "agent/observe/hooks.h"
#include "agent/observe/process.h"
#include "agent/observe/process_description.h"
#include "agent/observe/regions.h"
#include "agent/observe/rnn_weights.h"
#include "agent/observe/scaling.h"
#include "agent/observe/torch_seam.h"
#include "agent/script/script.h"

namespace castscope::observe {

Process g_process;
void* const* g_originals = nullptr;

namespace {

constexpr std::uint32_t kMostNamedThreads = 1u << 14;
std::atomic<std::uint32_t> g_named_threads{0};  // of this recording

pthread_key_t g_thread_key;
std::mutex* g_make_recording = new std::mutex;  // replaced in a forked child: its holder may not exist there

// Made when the agent starts, with the rights and the descriptors that there are then; takes no memory until the first
// event. The process it belongs to takes it out.
std::atomic<lanes::SegmentFile*> g_prepared_file{nullptr};
struct stat g_root;  // of the file system, then

void thread_ends(void* state) {
  auto* t = static_cast<ThreadState*>(state);
  thread_slot() = nullptr;
  if (Recording* r = g_process.recording.load()) {
    try {
      regions_abandoned(*t, true);
      for (const OpenRegion& region : t->open)
        if (region.enabled) r->enabled_regions.fetch_sub(1, std::memory_order_relaxed);
      t->sites.for_each([&](const SiteEntry& row) { r->modules.give_back(row.module_weakref); });
    } catch (const std::exception&) {  // no memory to note them in: they stay
    }
    if (!t->open.empty()) r->steps.outermost_exit(t->entered_in);
    r->segment.release_lane(&t->lane.lane());
  }
  delete t;
}

// PyTorch's cache is the child's as it stood when it was forked. The parent's goes on: read before.
std::atomic<std::uint64_t> g_cache_entries{0}, g_cache_bytes{0};

void fork_begins() {
  enforce::fork_begins();
  script::fork_begins();
  compile::fork_begins();
  gpu::fork_begins();
  memory::hold_own_memory();
  Recording* r = g_process.recording.load();
  if (r == nullptr) return;
  g_cache_entries = r->segment.header().cache_entries.load();
  g_cache_bytes = r->segment.header().cache_bytes.load();
}

void inherit_cache(lanes::SegmentHeader& h) {
  h.cache_entries = h.cache_peak_entries = g_cache_entries.load();
  h.cache_bytes = h.cache_peak_bytes = g_cache_bytes.load();
}

// In a forked child, its first thread: what it was in the parent. Leaked, its lane lies in the parent's segment.
thread_local const ThreadState* t_before_fork = nullptr;

void fork_ends() {
  memory::release_own_memory();
  gpu::fork_ends();
  compile::fork_ends();
  script::fork_ends();
  enforce::fork_ends();
}

// The thread that forked goes on in the child, where the parent's segment is none of its business.
void child_begins() {
  memory::release_own_memory();
  gpu::fork_ends();
  compile::fork_ends();
  script::fork_ends();
  if (ThreadState* t = thread_slot()) {
    thread_slot() = nullptr;
    pthread_setspecific(g_thread_key, nullptr);
    t_before_fork = t;
  }
  g_process.recording.store(nullptr);
  g_prepared_file = nullptr;  // the parent's
  g_process.forked = true;
  watch_operators_in_child();
  g_named_threads = 0;
  g_make_recording = new std::mutex;
  operators::child_begins();
  gpu::child_begins();
  enforce::child_begins();
}

// Where calls of other causes than autocast go that have no counter of their own: nothing is known of them but that.
std::uint32_t define_other_site(Definitions& d) {
  lanes::SiteDefinition site{};
  site.why = lanes::WhyNotCached::kNotAutocast;
  site.from = site.to = 0xff;  // no dtype
  return d.site(site);
}

// False when it was done before.
bool let_go() {
  if (g_process.stopped.exchange(true)) return false;
  stop_watching_operators();
  for (int i = 0; i < CASTSCOPE_HOOK_COUNT; ++i) {
    // Whatever becomes of the record: half a job under another policy would be worse than either.
    if (enforce::is_on() && (i == CASTSCOPE_HOOK_CACHED_CAST || i == CASTSCOPE_HOOK_CLEAR_CACHE)) continue;
    if (g_originals[i] != nullptr) g_process.preload->slots[i] = g_originals[i];
  }
  return true;
}

// The job's first process has ended and its report is written: nobody listens any more. In a process that has changed
// its root it would look the same.
bool run_is_over() {
  struct stat root {};
  if (access(g_process.preload->run_directory, F_OK) == 0 || errno != ENOENT || stat("/", &root) != 0) return false;
  return root.st_dev == g_root.st_dev && root.st_ino == g_root.st_ino;
}

lanes::SegmentWriter* make_segment(std::string* error) {
  lanes::SegmentWriter::Options options;
  options.directory = g_process.preload->run_directory;
  // Helpers forked from a training process (DataLoader workers) rarely cast.
  if (g_process.forked) options.ring_events = 1u << 12;
  if (const char* events = std::getenv("CASTSCOPE_RING")) {
    const unsigned long n = std::strtoul(events, nullptr, 10);
    if (n >= lanes::kSmallestRingEvents && n <= (1u << 18) && (n & (n - 1)) == 0)
      options.ring_events = static_cast<std::uint32_t>(n);
  }
  if (run_is_over()) {
    *error = options.directory + " is gone";
    return nullptr;
  }
  std::unique_ptr<lanes::SegmentFile> prepared(g_prepared_file.exchange(nullptr));
  return lanes::SegmentWriter::create(options, error, std::move(prepared));
}

Recording* make_recording() {
  std::lock_guard lock(*g_make_recording);
  if (Recording* r = g_process.recording.load()) return r;
  if (g_process.stopped.load()) return nullptr;
  std::string error;
  lanes::SegmentWriter* segment = make_segment(&error);
  if (segment == nullptr) {
    step_aside((error + "; this process is not recorded").c_str());
    return nullptr;
  }
  auto* r = new Recording(g_process.python, *segment);
  segment->set_other_site(define_other_site(r->definitions));
  describe_process(*r);
  if (g_process.forked && !enforce::is_on()) inherit_cache(segment->header());
  g_process.recording.store(r, std::memory_order_release);
  enforce::recording_begins(r->definitions);
  return r;
}

std::string thread_name() {
  char name[32] = "";
  pthread_getname_np(pthread_self(), name, sizeof name);
  return name;
}

}  // namespace

void step_aside(const char* sentence) noexcept {
  if (!let_go()) return;
  g_process.preload->say(sentence);
  Recording* r = g_process.recording.load();
  if (r == nullptr) return;
  try {  // the report must not speak of exact counts
    r->definitions.attribute("notice", "process " + std::to_string(getpid()) + ": " + sentence);
    r->definitions.attribute("stopped", "1");
  } catch (const std::exception&) {  // then standard error alone has it
  }
}

void step_aside_without_memory(const std::exception& e) noexcept {
  char sentence[256];
  std::snprintf(sentence, sizeof sentence,
                "no memory to record with (%.100s); from here on this process is not recorded", e.what());
  step_aside(sentence);
}

namespace {

ThreadState* try_make_thread_state() {
  meet_python();
  Recording* r = make_recording();
  if (r == nullptr) return nullptr;
  const auto tid = static_cast<std::uint32_t>(syscall(SYS_gettid));
  lanes::Lane* lane = r->segment.acquire_lane(tid);
  auto* t = new ThreadState(r->segment, *lane);
  // A lane taken over from an ended thread has counters already: go on with them.
  std::uint64_t left = lane->n_counters.load(std::memory_order_relaxed);
  for (std::uint64_t o = lane->first_counters.load(std::memory_order_relaxed); o != 0 && left > 0;) {
    auto* block = r->segment.at<lanes::CounterBlock>(o);
    for (std::uint32_t i = 0; i < lanes::kCountersPerBlock && left > 0; ++i, --left)
      t->counters.emplace(block->counters[i].site.load(std::memory_order_relaxed), &block->counters[i]);
    o = block->next.load(std::memory_order_relaxed);
  }
  if (g_process.has_python || g_process.python_unproved) t->python_thread = lasting_thread(g_process.python);
  t->autograd = autograd_state();
  t->script = script::running();
  t->cache_enabled = autocast_cache_enabled();
  for (std::uint8_t device = 0; device < 21; ++device) t->enabled_by_raw[device] = autocast_enabled(device) ? 1 : 0;
  thread_slot() = t;
  pthread_setspecific(g_thread_key, t);
  // A job may start threads for ever: from some number on they have no names of their own.
  const bool has_name = lane->id != 0 && g_named_threads.fetch_add(1, std::memory_order_relaxed) < kMostNamedThreads;
  mark(*t, lanes::EventKind::kThread, has_name ? r->definitions.thread(lane->id, tid, thread_name()) : 0);
  if (const ThreadState* before = std::exchange(t_before_fork, nullptr)) regions_inherited(*t, *before);
  return t;
}

}  // namespace

ThreadState* make_thread_state() {
  if (g_process.stopped.load(std::memory_order_relaxed)) return nullptr;
  try {
    return try_make_thread_state();
  } catch (const std::exception& e) {
    step_aside_without_memory(e);
    return nullptr;
  }
}

namespace {

void put_hooks() {
  const int minor = g_process.has_python ? g_process.python.minor : 0;
  for (int i = 0; i < CASTSCOPE_HOOK_COUNT; ++i) {
    if (g_originals[i] == nullptr) continue;
    const auto hook = static_cast<castscope_hook>(i);
    void* function = hook == CASTSCOPE_HOOK_CACHED_CAST ? cached_cast_hook(minor) : to_copy_hook(hook, minor);
    if (function == nullptr) function = conversion_hook(hook);
    if (function == nullptr) function = state_hook(hook);
    if (function == nullptr) function = scaling_hook(hook);
    if (function == nullptr) function = error_hook(hook);
    if (function == nullptr) function = script::hook(hook);
    if (function == nullptr) function = compile::hook(hook);
    if (function != nullptr) g_process.preload->slots[i] = function;
  }
}

}  // namespace

void prove_python() {
  PythonApi& api = g_process.python;
  if (api.gil_check() == 0 || api.current_frame() == nullptr || !g_process.python_unproved.exchange(false)) return;
  g_process.has_python = PythonStack::verify(api);
  if (g_process.has_python) {
    put_hooks();
    watch_python_errors();
  } else if (Recording* r = g_process.recording.load()) {
    notice_strange_python(r->definitions);  // else it will be
  }
}

namespace {

int refuse(const castscope_preload* preload, const char* reason) {
  char sentence[256];
  std::snprintf(sentence, sizeof sentence, "%.200s: the job runs unobserved", reason);
  preload->say(sentence);
  stop_watching_operators();
  return 1;
}

int start(const castscope_preload* preload) {
  if (preload->abi != CASTSCOPE_PRELOAD_ABI || preload->hook_count != CASTSCOPE_HOOK_COUNT) {
    preload->say("preload library and agent are of different versions; the job runs unobserved");
    return 1;
  }
  g_process.preload = preload;
  g_originals = preload->originals;
  g_process.thread_slot = static_cast<char*>(preload->thread_slot) - static_cast<char*>(__builtin_thread_pointer());
  g_process.python_unproved = load_python_api(g_process.python);
  // Key 0 is somebody else's where there is none left for us.
  if (pthread_key_create(&g_thread_key, thread_ends) != 0) return refuse(preload, "no thread-specific key is left");
  if (pthread_atfork(fork_begins, fork_ends, child_begins) != 0) return refuse(preload, "no memory to follow forks");
  if (!add_record_callbacks(user_scope_begins, user_scope_ended))
    return refuse(preload, "no thread-specific key is left");
  operators::start();
  gpu::start();
  if (gpu::is_cuda_build()) watch_rnn_weights();
  enforce::start(preload);
  std::string unused;  // tried again, and said, at the first event
  stat("/", &g_root);
  g_prepared_file = lanes::SegmentFile::create(preload->run_directory, lanes::kMaxSegmentBytes, &unused).release();
  put_hooks();
  meet_python();
  return 0;
}

void exits(int status) {
  if (Recording* r = g_process.recording.load()) {
    gpu::exits();
    if (ThreadState* t = thread_slot(); t != nullptr && !g_process.stopped) regions_abandoned(*t, false);
    r->segment.mark_end(lanes::EndMark::kExited, static_cast<std::uint64_t>(status) + 1);
  } else if (const lanes::SegmentFile* unused = g_prepared_file.exchange(nullptr)) {
    unused->remove();
  }
}

}  // namespace
}  // namespace castscope::observe

extern "C" {

[[gnu::visibility("default")]] int castscope_agent_start(const castscope_preload* preload) {
  try {
    return castscope::observe::start(preload);
  } catch (const std::exception& e) {
    return castscope::observe::refuse(preload, e.what());
  }
}

[[gnu::visibility("default")]] void castscope_agent_exit(int status) { castscope::observe::exits(status); }

[[gnu::visibility("default")]] void castscope_agent_step() { castscope::observe::explicit_step(); }

[[gnu::visibility("default")]] void castscope_agent_rule_met(const char* rule) try {
  castscope::enforce::rule_met_in_python(rule);
} catch (const std::exception&) {  // no memory: the report calls it unmet
}

[[gnu::visibility("default")]] void castscope_agent_compared(const char* comparison) try {
  castscope::observe::Recording* r = castscope::observe::g_process.recording.load();
  if (r != nullptr) r->definitions.attribute("comparison", comparison);
} catch (const std::exception&) {  // no memory: the report has one comparison less
}

[[gnu::visibility("default")]] void castscope_agent_annotated(const char* function, const char* argument,
                                                              std::uint32_t position, const void* tensor, int to,
                                                              int flags) try {
  castscope::observe::annotated_cast_begins({function, argument, position, tensor, static_cast<std::uint8_t>(to),
                                             (flags & CASTSCOPE_ANNOTATED_SERVED) != 0,
                                             (flags & CASTSCOPE_ANNOTATED_KEEPS) != 0});
} catch (const std::exception&) {  // no memory: it is counted as a `.to()`
}

[[gnu::visibility("default")]] void castscope_agent_annotated_end() { castscope::observe::annotated_cast_ends(); }

[[gnu::visibility("default")]] void castscope_agent_arrived(const char* text, int detail) {
  castscope::observe::argument_arrived(text, static_cast<std::uint16_t>(detail));
}

}  // extern "C"
