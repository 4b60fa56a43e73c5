#include "agent/operators/deep.h"

#include <cstdlib>
#include <exception>
#include <mutex>
#include <utility>

#include "agent/casts/stale_copies.h"
#include "agent/gpu/gpu.h"
#include "agent/lanes/control.h"
#include "agent/operators/callbacks.h"
#include "agent/operators/inside_operator.h"
#include "agent/operators/places.h"
#include "agent/operators/schedule.h"
#include "agent/operators/use_record.h"
#include "agent/operators/values.h"
#include "agent/regions/regions.h"
#include "agent/session/call_stack.h"
#include "agent/session/marks.h"
#include "agent/torch/torch_python.h"

namespace castscope::operators {

namespace {

// Why castscope looks at operators at present; the reason decides when it stops.
enum class Looking : std::uint8_t {
  kNothing,
  kStep,     // a deep step, to its end
  kTail,     // what follows an optimizer's step, up to the next region
  kCapture,  // the capture of a CUDA graph
  kNewCode,  // code that is met for the first time in the midst of a step
};

// Decides when to look. Made anew in a forked child, whose steps are its own.
struct Watch {
  explicit Watch(Mode mode) : schedule(mode) {}
  std::mutex mutex;
  Schedule schedule;
  std::atomic<bool> begun{false};
  Looking looking = Looking::kNothing;
  std::uint64_t in_tails = 0;                      // operators looked at in earlier tails
  bool in_capture = false;                         // a CUDA graph is being captured
  std::uint32_t next = 0;                          // the step that step_is_next has looked at
  std::size_t places = 0;                          // sites and regions known when the step before began
  std::atomic<std::uint64_t> operators_before{0};  // looked at when the present stretch began
  std::uint64_t places_named = 0;                  // at the last look at them
  std::uint64_t operators_at_new_place = 0;        // looked at when a place was last named
  bool has_gap = false;                            // some step was not looked at to its end
  std::uint32_t wanted = 0;                        // steps that somebody asked for, and that have not begun
  std::uint32_t wanted_begun = 0;                  // … and that have, since the last request
  bool in_wanted = false;                          // the present step is one of them
};
Watch* g_watch = nullptr;
Mode g_mode;
std::atomic<std::uint64_t> g_stretch{0}, g_session{0};
std::atomic<bool> g_enabled{false};
bool g_added = false;  // PyTorch has the callbacks

agent::Recording* recording() { return agent::g_process.recording.load(std::memory_order_acquire); }

// Takes a lock of PyTorch's and lays its list of callbacks out anew, in this thread and then in each: part of what
// looking costs.
void switch_callbacks(bool on) {
  if (g_enabled.exchange(on) == on) return;
  lanes::SegmentWriter& segment = recording()->segment;
  const std::uint64_t begin = segment.now();
  enable_callbacks(on);
  segment.header().deep_ticks.fetch_add(segment.now() - begin, std::memory_order_relaxed);
}

Spent spent(const Watch& watch) {
  agent::Recording& r = *recording();
  const lanes::SegmentHeader& h = r.segment.header();
  const std::uint64_t run_ns = lanes::monotonic_ns() - h.monotonic0_ns;
  const double ns_per_tick = static_cast<double>(run_ns) / static_cast<double>(r.segment.now() - h.clock0);
  const auto looked = static_cast<double>(h.deep_ticks.load(std::memory_order_relaxed));
  return {.operators = h.deep_operators.load(std::memory_order_relaxed),
          .places = watch.places_named,
          .looked_ns = static_cast<std::uint64_t>(looked * ns_per_tick),
          .run_ns = run_ns};
}

// `in_operator`: the thread may be inside an operator whose begin was not looked at.
void look(agent::ThreadState& t, Watch& watch, Looking what, bool in_operator = false) {
  watch.operators_before = recording()->segment.header().deep_operators.load(std::memory_order_relaxed);
  watch.operators_at_new_place = watch.operators_before;
  watch.looking = what;
  const bool was_on = deep();
  if (!was_on) g_session.fetch_add(1);
  g_stretch.fetch_add(1);
  if (!in_operator) begin_stretch(operators_of(t));
  if (what == Looking::kStep || what == Looking::kCapture) gpu::stretch_begins(what == Looking::kStep);
  if (was_on) return;
  agent::ask_for(agent::kLooking, true);
  agent::doubt_all_hits(true);
  switch_callbacks(true);
}

// Returns whether a whole step had been looked at.
bool leave(Watch& watch) {
  const Looking was = std::exchange(watch.looking, Looking::kNothing);
  if (was == Looking::kTail)
    watch.in_tails += recording()->segment.header().deep_operators.load() - watch.operators_before;
  return was == Looking::kStep;
}

void count_deep_step() { recording()->segment.header().deep_steps.fetch_add(1, std::memory_order_relaxed); }

// Notes the first step that is not looked at to its end.
void note_gap(Watch& watch, std::uint32_t step) {
  if (!std::exchange(watch.has_gap, true))
    recording()->segment.header().first_gap_plus_one.store(std::uint64_t{step} + 1, std::memory_order_relaxed);
}

void tell_refused(const Watch& watch) {
  recording()->segment.header().new_code_left_out.store(watch.schedule.refused(), std::memory_order_relaxed);
}

void switch_on(agent::ThreadState& t, Watch& watch) {
  const bool was_told = leave(watch) && deep();
  look(t, watch, Looking::kStep);
  if (was_told) return;
  agent::log_line("observes every operator from step %u on", recording()->steps.current());
  agent::mark(t, lanes::EventKind::kDeep, 0, 1);
}

void switch_off(agent::ThreadState* t, Watch& watch) {
  if (!agent::ask_for(agent::kLooking, false)) return;
  const bool was_told = leave(watch);
  gpu::stretch_ends();
  agent::doubt_all_hits(false);
  switch_callbacks(false);
  if (was_told) agent::log_line("stops observing every operator, in step %u", recording()->steps.current());
  if (t != nullptr && was_told) agent::mark(*t, lanes::EventKind::kDeep, 0, 0);
}

// Returns true if no step will be deep: the user gave `--deep never`, and nobody has asked by `castscope deep`.
bool is_never(const Watch& watch) { return g_mode.kind == Mode::kNever && watch.wanted == 0 && !watch.in_wanted; }

// Begins one of the steps that `castscope deep` asked for, and tells it on the control page. Returns false where none
// is left to begin.
bool begin_wanted(Watch& watch, std::uint32_t step) {
  watch.in_wanted = watch.wanted > 0;
  if (!watch.in_wanted) return false;
  --watch.wanted;
  castscope_control& page = **agent::g_process.preload->control;
  if (watch.wanted_begun++ == 0) __atomic_store_n(&page.deep_first, step, __ATOMIC_RELEASE);
  __atomic_store_n(&page.deep_begun, page.deep_begun + 1, __ATOMIC_RELEASE);
  return true;
}

// Whether the step is deep.
bool begin_step(agent::ThreadState& t, Watch& watch, std::uint32_t step) {
  const std::size_t places = recording()->definitions.places();
  const bool changed = places != watch.places;
  watch.places = places;
  const bool is_deep = begin_wanted(watch, step) || watch.schedule.step_begins(step, changed, spent(watch));
  tell_refused(watch);
  if (!is_deep) note_gap(watch, step);
  if (is_deep)
    switch_on(t, watch);
  else if (!watch.in_capture)
    switch_off(&t, watch);
  return is_deep;
}

Stretch present_stretch() {
  return {g_stretch.load(std::memory_order_relaxed), g_session.load(std::memory_order_relaxed)};
}

// Returns whether castscope goes on looking, now that so many operators were looked at in all.
bool goes_on(const Watch& watch, std::uint64_t operators) {
  const std::uint64_t since = operators - watch.operators_before;
  const std::uint64_t quiet = operators - watch.operators_at_new_place;
  if (g_mode.kind != Mode::kAutomatic || watch.in_wanted) return true;
  if (watch.looking == Looking::kTail) return since < kOperatorsInTail;
  if (watch.looking == Looking::kNewCode) return watch.schedule.new_code_goes_on(quiet, spent(watch));
  return watch.schedule.goes_on(since, quiet, spent(watch));
}

void looked_at(std::uint64_t operators, std::uint64_t ticks) {
  agent::Recording* r = recording();
  if (r == nullptr) return;
  lanes::SegmentHeader& h = r->segment.header();
  h.deep_ticks.fetch_add(ticks, std::memory_order_relaxed);
  const std::uint64_t now = h.deep_operators.fetch_add(operators, std::memory_order_relaxed) + operators;
  Watch& watch = *g_watch;
  std::unique_lock lock(watch.mutex, std::try_to_lock);
  if (!lock || !deep()) return;
  if (const std::uint64_t places = places_named(); std::exchange(watch.places_named, places) != places)
    watch.operators_at_new_place = now;
  if (watch.in_capture || goes_on(watch, now)) return;
  if (watch.looking == Looking::kStep) note_gap(watch, r->steps.current());
  switch_off(agent::thread_slot(), watch);
}

void operator_met() {
  const agent::PythonApi& python = agent::g_process.python;
  if (agent::g_process.has_python) {
    const agent::HeldGil* gil = agent::HeldGil::asked(python);
    if (gil == nullptr || !agent::is_torch_imported(*gil, python)) return;
  }
  if (!waits_for_operator()) return;
  wait_for_operator(false);
  agent::ThreadState* t = agent::thread_state();
  if (t == nullptr) return;
  std::lock_guard lock(g_watch->mutex);
  if (deep()) return;
  look(*t, *g_watch, Looking::kTail);  // the first step begins with the first region
}

}  // namespace

void start() {
  const char* mode = std::getenv("CASTSCOPE_DEEP");
  g_mode = mode_of(mode == nullptr ? "" : mode);
  g_watch = new Watch(g_mode);
  g_added = g_mode.kind != Mode::kNever;
  if (g_added) add_callbacks({present_stretch, looked_at, operator_met});
  if (g_mode.kind != Mode::kAlways) return;
  wait_for_operator(true);
  g_enabled = true;
  enable_callbacks(true);
}

void want_steps(std::uint32_t more) {
  std::lock_guard lock(g_watch->mutex);
  if (!g_added) add_callbacks({present_stretch, looked_at, operator_met});
  g_added = true;
  if (g_watch->wanted == 0) g_watch->wanted_begun = 0;
  g_watch->wanted += more;
}

void let_go(agent::ThreadState& t) {
  std::lock_guard lock(g_watch->mutex);
  g_watch->in_capture = g_watch->in_wanted = false;
  g_watch->begun = false;
  wait_for_operator(false);
  switch_off(&t, *g_watch);
  switch_callbacks(false);
}

void child_begins() {
  // The callbacks are left as they are, and do nothing: another thread may have held PyTorch's lock.
  agent::ask_for(agent::kLooking, false);
  g_watch = new Watch(g_mode);
  agent::stale_copies_after_fork();
  operator_info_after_fork();
  inside_operator_after_fork();
  places_after_fork();
}

void region_begins(agent::ThreadState& t, bool new_step) {
  std::lock_guard lock(g_watch->mutex);
  if (is_never(*g_watch) || (!new_step && g_watch->begun)) return;
  g_watch->begun = true;
  wait_for_operator(false);
  if (begin_step(t, *g_watch, recording()->steps.current())) count_deep_step();
}

void step_is_next(agent::ThreadState& t) {
  const agent::Steps& steps = recording()->steps;
  std::lock_guard lock(g_watch->mutex);
  if (is_never(*g_watch) || steps.are_explicit() || g_watch->next == steps.current() + 1) return;
  g_watch->next = steps.current() + 1;
  begin_step(t, *g_watch, g_watch->next);
}

void step_has_begun() {
  std::lock_guard lock(g_watch->mutex);
  if (deep() && g_watch->looking == Looking::kStep && g_watch->next == recording()->steps.current()) count_deep_step();
}

void optimizer_stepped(agent::ThreadState& t) {
  if (deep() || g_mode.kind == Mode::kNever) return;
  std::unique_lock lock(g_watch->mutex, std::try_to_lock);
  if (!lock || deep() || !g_watch->schedule.tail_begins(g_watch->in_tails, spent(*g_watch))) return;
  look(t, *g_watch, Looking::kTail);
}

void capture_begins(agent::ThreadState& t) {
  if (g_mode.kind == Mode::kNever || recording() == nullptr) return;
  std::lock_guard lock(g_watch->mutex);
  if (g_watch->in_capture) return;
  g_watch->in_capture = true;
  if (deep()) return gpu::stretch_begins(false);  // a tail is not timed by itself
  look(t, *g_watch, Looking::kCapture);
}

void capture_ends() {
  if (g_mode.kind == Mode::kNever || recording() == nullptr) return;
  std::lock_guard lock(g_watch->mutex);
  if (!std::exchange(g_watch->in_capture, false) || g_watch->looking == Looking::kStep) return;
  switch_off(agent::thread_slot(), *g_watch);
}

void code_is_met(agent::ThreadState& t, std::uint64_t stack, const void* module) {
  // A thread without frames (autograd's) runs what a line has called that is looked at.
  if (deep() || g_mode.kind != Mode::kAutomatic || stack == agent::PythonStack::kNoFrames) return;
  if (is_known_code(stack, module)) return;
  std::unique_lock lock(g_watch->mutex, std::try_to_lock);
  if (!lock || deep() || !g_watch->begun) return;
  const bool looks = g_watch->schedule.new_code_begins(spent(*g_watch));
  tell_refused(*g_watch);
  if (looks) look(t, *g_watch, Looking::kNewCode, true);
}

void conversion_is_asked(agent::ThreadState& t) {
  if (deep() || g_mode.kind != Mode::kAutomatic || !g_watch->begun) return;
  const auto python = agent::summary_of(t);
  const std::uint64_t code = agent::mix(python.hash, reinterpret_cast<std::uint64_t>(python.module), 1);
  try {
    if (t.conversions_met.size() >= Places::kMost) t.conversions_met.clear();
    if (!t.conversions_met.insert(code).second) return;
  } catch (const std::exception&) {  // out of memory: it may be met again
  }
  code_is_met(t, python.hash, python.module);
}

void cast_made(agent::ThreadState& t, const void* source, std::uint8_t to, std::uint32_t site) {
  const auto* tensor = static_cast<const c10::TensorImpl*>(source);
  const auto dtype = static_cast<c10::ScalarType>(to);
  if (!is_down_cast(c10::typeMetaToScalarType(tensor->dtype()), dtype)) return;
  const std::uint64_t begin = t.lane.now();
  note_values(t, tensor, site, dtype);
  recording()->segment.header().deep_ticks.fetch_add(t.lane.now() - begin, std::memory_order_relaxed);
}

void first_cast_of(agent::ThreadState& t, const void* source, std::uint8_t to, std::uint32_t site) {
  if (!deep() && g_mode.kind != Mode::kNever) cast_made(t, source, to, site);
}

std::uint32_t open_use(agent::ThreadState& t) try {
  ThreadOperators* const known = known_operators(t);
  if (!deep() || known == nullptr || known->enclosing < 0) return 0;
  ThreadOperators& o = *known;
  return define_open(t, o, o.uses[static_cast<std::size_t>(o.enclosing)]);
} catch (const std::exception&) {
  return 0;
}

}  // namespace castscope::operators
