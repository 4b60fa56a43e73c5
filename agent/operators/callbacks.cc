#include "agent/operators/callbacks.h"

#include <ATen/record_function.h>

#include <atomic>
#include <exception>
#include <variant>

#include "agent/operators/inside_operator.h"
#include "agent/operators/math_settings.h"
#include "agent/operators/use_record.h"
#include "agent/session/call_stack.h"
#include "agent/torch/autocast_state.h"
#include "agent/torch/backward_node.h"
#include "agent/torch/record_inputs.h"

namespace castscope::operators {
namespace {

using agent::MayWait;
using agent::ThreadState;

// A private member: the public way copies the whole schema. (As in agent/torch/torch_seam.cc.)
template <typename Tag, auto Member>
struct Expose {
  friend constexpr auto member(Tag) { return Member; }
};
struct FunctionOf {
  friend constexpr auto member(FunctionOf);
};
template struct Expose<FunctionOf, &at::RecordFunction::fn_>;

// nullptr for a range that is not an operator's.
const c10::FunctionSchema* schema_of(const at::RecordFunction& fn) {
  const auto* schema = std::get_if<at::RecordFunction::schema_ref_t>(&(fn.*member(FunctionOf{})));
  return schema == nullptr ? nullptr : &schema->get();
}

at::CallbackHandle g_operators = 0, g_nodes = 0;
Watcher g_watcher{};
std::atomic<bool> g_waits{false};

// The calling thread, when it is looked at. Looking is never the first thing that a process does, unless that was asked
// for (a DataLoader's worker does not get a recording of its own for running operators).
ThreadState* looked_at_thread() {
  if (waits_for_operator()) [[unlikely]]
    g_watcher.operator_met();
  if (!agent::deep() || agent::g_process.recording.load(std::memory_order_acquire) == nullptr) return nullptr;
  if (agent::g_process.silent()) return nullptr;
  return agent::thread_state();
}

class Timed {
 public:
  Timed(ThreadState& t, ThreadOperators& o) : t_(t), o_(o), begin_(t.lane.now()) {}
  ~Timed() { o_.looked += t_.lane.now() - begin_; }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;
  std::uint64_t begin() const { return begin_; }

 private:
  ThreadState& t_;
  ThreadOperators& o_;
  const std::uint64_t begin_;
};

const OperatorInfo& info_of(ThreadOperators& o, const c10::FunctionSchema& schema) {
  const OperatorInfo*& info = o.infos[&schema];
  if (info == nullptr) info = &operator_info(schema);
  return *info;
}

// Whether it is known that the thread itself calls its operators. A thread that was inside an operator when the looking
// began is checked again at each operator, until it is out.
bool is_sure(ThreadOperators& o) {
  const Stretch now = g_watcher.present_stretch();
  if (o.stretch == now.number) return true;
  if (o.session != now.session && is_inside_another_operator()) return false;
  begin_stretch(o);
  return true;
}

// Whether the operator around has a body in Python: a line of code calls what Python calls in there.
bool is_called_by_a_body(const ThreadState& t, const OpenUse& outer) {
  return !outer.info->own && agent::g_process.has_python &&
         agent::PythonStack::top(agent::g_process.python, t.python_thread) != outer.python_frame;
}

// A counted use knows its operator; the names of all operators are behind a lock.
std::uint32_t op_of(const OpenUse& use) {
  if (use.place != nullptr && use.place->use.op != 0) return use.place->use.op;
  return agent::g_process.recording.load()->definitions.op(use.info->name);
}

// Gives the matrix products since `from` to this use.
void place_matmuls(ThreadState& t, ThreadOperators& o, std::size_t from, std::uint32_t use, std::uint32_t op) {
  agent::Recording& r = *agent::g_process.recording.load();
  o.matmuls.place(from, use, op, [&](lanes::MatmulDefinition& d, const char* function) -> lanes::Counter* {
    d.function = r.definitions.string(function);
    const std::uint32_t id = r.definitions.seen(d);
    return id == 0 ? nullptr : r.segment.new_counter(&t.lane.lane(), id);
  });
}

// Products that no operator made come first.
std::size_t begin_matmuls(ThreadState& t, ThreadOperators& o) {
  const std::size_t pending = o.matmuls.begin();
  if (pending == 0 || o.used > 1) return pending;
  place_matmuls(t, o, 0, 0, 0);
  return 0;
}

void operator_begins(const MayWait& may_wait, ThreadState& t, ThreadOperators& o, const at::RecordFunction& fn,
                     const c10::FunctionSchema& schema) {
  ++o.operators;
  if (o.enclosing >= 0) {
    OpenUse& outer = o.uses[static_cast<std::size_t>(o.enclosing)];
    if (outer.may_be_cast && note_second_call(outer, info_of(o, schema), agent::inputs_of(fn))) return;
    if (!is_called_by_a_body(t, outer)) return;
  }
  if (o.enclosing == ThreadOperators::kUnknown) return;
  if (o.used == ThreadOperators::kMostUses || t.in_cached_cast || t.ignoring || !is_sure(o)) {
    o.enclosing = ThreadOperators::kUnknown;
    return;
  }
  if (o.used == 0) o.places.make_room();
  OpenUse& use = o.uses[static_cast<std::size_t>(o.used)];
  o.frames[o.depth - 1].is_use = true;
  o.enclosing = o.used++;
  use.work = {};
  use.matmuls = begin_matmuls(t, o);
  begin_use(may_wait, t, o, use, info_of(o, schema), agent::inputs_of(fn));
  if (gpu::timing()) [[unlikely]]
    use.work = gpu::work_begins(t);
}

// Notes the operator that launched the work.
void settle_work(ThreadState& t, const OpenUse& use, std::uint32_t id) {
  std::uint32_t op = 0;
  try {
    op = op_of(use);
  } catch (const std::exception&) {  // out of memory: the operator has no name
  }
  gpu::work_ends(t, use.work, {.use = id, .op = op});
}

void node_begins(const MayWait& may_wait, ThreadState& t, ThreadOperators& o, const char* name) {
  constexpr std::string_view kEngine = "autograd::engine::evaluate_function: ";
  std::string_view text = name == nullptr ? "" : name;
  if (text.starts_with(kEngine)) text.remove_prefix(kEngine.size());
  o.enclosing = ThreadOperators::kOutside;
  if (o.stretch != g_watcher.present_stretch().number) begin_stretch(o);
  o.node = agent::g_process.recording.load()->definitions.string(agent::short_node_name(text));
  // Most nodes hold a lock of their own while their operators run, so code is pinned before.
  o.places.know_stack(may_wait, t, summary_of(t).hash);
}

std::unique_ptr<at::ObserverContext> begins(const at::RecordFunction& fn) {
  // The node or the operator is not called yet.
  const MayWait may_wait = MayWait::before_original();
  ThreadState* t = agent::thread_slot();
  try {
    if (t == nullptr) t = looked_at_thread();
    if (t == nullptr) return nullptr;
    ThreadOperators& o = operators_of(*t);
    Timed timed(*t, o);
    if (o.depth++ >= ThreadOperators::kMostDepth) return nullptr;
    o.frames[o.depth - 1] = {static_cast<std::int8_t>(o.enclosing), false, o.node};
    if (looked_at_thread() == nullptr) {
      o.enclosing = ThreadOperators::kUnknown;
    } else if (fn.scope() == at::RecordScope::BACKWARD_FUNCTION) {
      node_begins(may_wait, *t, o, fn.name());
    } else if (const c10::FunctionSchema* schema = schema_of(fn)) {
      operator_begins(may_wait, *t, o, fn, *schema);
    }
  } catch (const std::exception&) {  // out of memory: this operator is not looked at
    if (ThreadOperators* known = t == nullptr ? nullptr : known_operators(*t))
      known->enclosing = ThreadOperators::kUnknown;
  }
  return nullptr;
}

void ends(const at::RecordFunction& fn, at::ObserverContext*) {
  ThreadState* t = agent::thread_slot();
  ThreadOperators* const known = t == nullptr ? nullptr : known_operators(*t);
  if (known == nullptr) return;
  ThreadOperators& o = *known;
  if (o.depth == 0 || --o.depth >= ThreadOperators::kMostDepth) return;
  const std::uint64_t now = t->lane.now();
  const ThreadOperators::Frame& frame = o.frames[o.depth];
  o.enclosing = frame.enclosing;
  o.node = frame.node;
  if (frame.is_use) {
    OpenUse& use = o.uses[static_cast<std::size_t>(--o.used)];
    std::uint32_t id = 0;
    try {
      id = end_use(*t, o, use, fn.outputs(), now - use.begin);
      if (o.matmuls.pending() > use.matmuls) [[unlikely]] {
        tell_math_settings(*agent::g_process.recording.load());
        place_matmuls(*t, o, use.matmuls, id, op_of(use));
      }
    } catch (const std::exception&) {  // out of memory: this operator is not counted
    }
    if (use.work) [[unlikely]]
      settle_work(*t, use, id);
  } else if (frame.enclosing >= 0) {
    if (const c10::FunctionSchema* schema = schema_of(fn))
      forget_made_inside(o, o.uses[static_cast<std::size_t>(frame.enclosing)], fn.outputs(), schema->returns().size());
  }
  o.looked += t->lane.now() - now;
  if (o.depth > 0 && o.operators < 64) return;
  g_watcher.looked_at(o.operators, o.looked);
  o.operators = o.looked = 0;
}

}  // namespace

ThreadOperators& operators_of(ThreadState& t) {
  if (t.operators == nullptr) t.operators = std::make_unique<ThreadOperators>();
  return *known_operators(t);
}

void begin_stretch(ThreadOperators& o) {
  const Stretch now = g_watcher.present_stretch();
  o.stretch = now.number;
  o.session = now.session;
  o.producers.clear();
}

void wait_for_operator(bool on) { g_waits.store(on); }
bool waits_for_operator() { return g_waits.load(std::memory_order_relaxed); }

void add_callbacks(const Watcher& watcher) {
  g_watcher = watcher;
  g_operators = at::addGlobalCallback(at::RecordFunctionCallback(begins, ends)
                                          .needsInputs(true)
                                          .needsOutputs(true)
                                          .scopes({at::RecordScope::FUNCTION}));
  g_nodes =
      at::addGlobalCallback(at::RecordFunctionCallback(begins, ends).scopes({at::RecordScope::BACKWARD_FUNCTION}));
  at::disableCallback(g_operators);
  at::disableCallback(g_nodes);
}

void enable_callbacks(bool on) {
  for (const at::CallbackHandle handle : {g_operators, g_nodes})
    on ? at::reenableCallback(handle) : at::disableCallback(handle);
}

}  // namespace castscope::operators

namespace castscope::matmuls {

ThreadMatmuls* current_matmuls() noexcept {
  const agent::ThreadState* t = agent::thread_slot();
  if (t == nullptr || t->ignoring || !agent::deep()) return nullptr;
  operators::ThreadOperators* const known = operators::known_operators(*t);
  return known == nullptr ? nullptr : &known->matmuls;
}

}  // namespace castscope::matmuls
