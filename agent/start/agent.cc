// The agent's life: preload starts it in the moment in which libtorch is loaded; a segment is made at the first event;
// a forked child starts afresh; an end mark is written at exit. Nothing is torn down: threads may still be inside a
// hook.
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>

#include "agent/casts/annotations.h"
#include "agent/casts/hooks.h"
#include "agent/casts/rnn_weights.h"
#include "agent/compile/compile.h"
#include "agent/enforce/enforcing.h"
#include "agent/enforce/hooks.h"
#include "agent/errors/errors.h"
#include "agent/gpu/gpu.h"
#include "agent/memory/own_memory.h"
#include "agent/operators/deep.h"
#include "agent/operators/schedule.h"
#include "agent/regions/hooks.h"
#include "agent/regions/regions.h"
#include "agent/regions/scaling.h"
#include "agent/script/script_hooks.h"
#include "agent/session/arrivals.h"
#include "agent/session/metrics.h"
#include "agent/session/process.h"
#include "agent/session/recording.h"
#include "agent/session/threads.h"
#include "agent/start/attaching.h"
#include "agent/start/late_imports.h"
#include "agent/start/listen.h"
#include "agent/torch/originals.h"
#include "agent/torch/torch_seam.h"
#include "agent/torchscript/known_ranges.h"
#include "agent/wiring/features.h"

namespace castscope::agent {
namespace {

void fork_begins() {
  enforce::fork_begins();
  script::fork_begins();
  compile::fork_begins();
  gpu::fork_begins();
  memory::hold_own_memory();
  recording_fork_begins();
}

void fork_ends() {
  memory::release_own_memory();
  gpu::fork_ends();
  compile::fork_ends();
  script::fork_ends();
  enforce::fork_ends();
}

// The thread that forked goes on in the child, which must not touch the parent's segment.
void child_begins() {
  memory::release_own_memory();
  gpu::fork_ends();
  compile::fork_ends();
  script::fork_ends();
  threads_child_begins();
  recording_child_begins();
  watch_operators_in_child();
  operators::child_begins();
  gpu::child_begins();
  enforce::child_begins();
  attaching_in_child();
}

void put_hooks() {
  int put = 0, missing = 0;
  const int minor = g_process.has_python ? g_process.python.minor : 0;
  for (int i = 0; i < CASTSCOPE_HOOK_COUNT; ++i) {
    if (g_originals[i] == nullptr) {
      ++missing;
      continue;
    }
    const auto hook = static_cast<castscope_hook>(i);
    void* function = hook == CASTSCOPE_HOOK_CACHED_CAST
                         ? (enforce::is_on() ? enforce::cached_cast_hook(minor) : cached_cast_hook(minor))
                         : to_copy_hook(hook, minor);
    if (function == nullptr) function = conversion_hook(hook);
    if (function == nullptr) function = foreach_copy_hook(hook);
    if (function == nullptr) function = cache_hook(hook);
    if (function == nullptr) function = state_hook(hook);
    if (function == nullptr) function = scaling_hook(hook);
    if (function == nullptr) function = error_hook(hook);
    if (function == nullptr) function = script::hook(hook);
    if (function == nullptr) function = compile::hook(hook);
    if (function == nullptr) continue;
    put_hook(i, function);
    ++put;
  }
  log_line("intercepts %d functions of PyTorch; %d more are known but not in this version", put, missing);
}

// Python's stack can be read from here on.
void python_is_known(const HeldGil& gil) {
  if (!g_process.away.load()) put_hooks();
  watch_python_errors(gil);
}

// Preload says what becomes of the process then.
int refuse(const castscope_preload* preload, const char* reason) {
  std::snprintf(preload->refusal, CASTSCOPE_REFUSAL_BYTES, "%s", reason);
  stop_watching_operators();
  return 1;
}

// A variable that was left over must not keep a job from running: what is wrong with it is said, once in a run.
void check_variable(const castscope_preload* preload, const char* name, const char* choices,
                    bool (*knows)(std::string_view)) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0' || knows(value)) return;
  char sentence[256];
  std::snprintf(sentence, sizeof sentence, "%s is `%.60s`, which is not %s: it is ignored", name, value, choices);
  preload->say(sentence);
}

int start(const castscope_preload* preload) {
  if (preload->abi != CASTSCOPE_PRELOAD_ABI || preload->hook_count != CASTSCOPE_HOOK_COUNT) return 1;
  g_process.preload = preload;
  g_originals = preload->originals;
  g_process.thread_slot = static_cast<char*>(preload->thread_slot) - static_cast<char*>(__builtin_thread_pointer());
  log_line("begins beside PyTorch %s in %s; what it sees goes into %s", compiled_torch_version(),
           preload->torch_library, preload->run_directory);
  g_process.python_unproved = load_python_api(g_process.python);
  if (!watch_thread_ends()) return refuse(preload, "no thread-specific key is left");
  if (pthread_atfork(fork_begins, fork_ends, child_begins) != 0) return refuse(preload, "no memory to follow forks");
  if (!add_record_callbacks(user_scope_begins, user_scope_ended))
    return refuse(preload, "no thread-specific key is left");
  check_variable(preload, "CASTSCOPE_DEEP", "always, never or N for each Nth step", operators::is_mode);
  check_variable(preload, "CASTSCOPE_GPU", "auto, on, events or off", gpu::is_choice);
  operators::start();
  gpu::start();
  if (gpu::is_cuda_build()) watch_rnn_weights();
  g_process.keeps_casting = enforce::start(preload);
  log_line("%s", g_process.keeps_casting ? "carries out a policy" : "observes only");
  listen(g_process.keeps_casting);
  g_features.python_is_known = python_is_known;
  prepare_recording();
  if (preload->entries != nullptr) {
    begin_away();
    take_imports(*preload);
    return 0;
  }
  begin_watching();
  put_hooks();
  meet_python();
  return 0;
}

void exits(int status) {
  log_line("the process exits with status %d", status);
  if (Recording* r = g_process.recording.load()) {
    gpu::exits();
    if (ThreadState* t = thread_slot(); t != nullptr && !g_process.silent()) {
      last_step_ended(*t);
      regions_abandoned(*t, false);
    }
    last_span_ends(*r);
    r->segment.mark_end(lanes::EndMark::kExited, static_cast<std::uint64_t>(status) + 1);
  } else {
    remove_prepared_recording();
  }
}

}  // namespace
}  // namespace castscope::agent

extern "C" {

[[gnu::visibility("default")]] int castscope_agent_start(const castscope_preload* preload) {
  try {
    return castscope::agent::start(preload);
  } catch (const std::exception& e) {
    return castscope::agent::refuse(preload, e.what());
  }
}

[[gnu::visibility("default")]] void castscope_agent_exit(int status) { castscope::agent::exits(status); }

[[gnu::visibility("default")]] void castscope_agent_attach() try {
  using namespace castscope::agent;
  take_later_imports();
  attach(put_hooks);
  meet_python();
} catch (const std::exception& e) {
  castscope::agent::step_aside_without_memory(e);
}

[[gnu::visibility("default")]] void castscope_agent_step() { castscope::agent::explicit_step(); }

[[gnu::visibility("default")]] void castscope_agent_metric(const char* name, double value) {
  castscope::agent::metric_was_told(name, value);
}

[[gnu::visibility("default")]] void castscope_agent_rule_met(const char* rule) try {
  castscope::enforce::rule_met_in_python(rule);
} catch (const std::exception&) {  // no memory: the report calls the rule unmet
}

[[gnu::visibility("default")]] void castscope_agent_compared(const char* comparison) try {
  castscope::agent::Recording* r = castscope::agent::g_process.recording.load();
  if (r != nullptr) r->definitions.attribute("comparison", comparison);
} catch (const std::exception&) {  // no memory: the report has one comparison less
}

[[gnu::visibility("default")]] void castscope_agent_annotated(const char* function, const char* argument,
                                                              std::uint32_t position, const void* tensor, int to,
                                                              int flags) try {
  castscope::agent::annotated_cast_begins({function, argument, position, tensor, static_cast<std::uint8_t>(to),
                                           (flags & CASTSCOPE_ANNOTATED_SERVED) != 0,
                                           (flags & CASTSCOPE_ANNOTATED_KEEPS) != 0});
} catch (const std::exception&) {  // no memory: the cast is counted as a `.to()`
}

[[gnu::visibility("default")]] void castscope_agent_annotated_end() { castscope::agent::annotated_cast_ends(); }

[[gnu::visibility("default")]] void castscope_agent_arrived(const char* text, int detail) {
  // The package calls preload through ctypes.PyDLL, which keeps the GIL.
  const auto gil = castscope::agent::HeldGil::of_caller();
  castscope::agent::argument_arrived(castscope::agent::MayWait::having(gil), text, static_cast<std::uint16_t>(detail));
}

}  // extern "C"
