#include "agent/casts/sites.h"

#include <exception>
#include <memory>
#include <utility>

#include "agent/casts/planned_casts.h"
#include "agent/casts/role.h"
#include "agent/naming/native_place.h"
#include "agent/regions/script_regions.h"
#include "agent/session/call_stack.h"
#include "agent/session/renamed_modules.h"
#include "agent/torch/autocast_state.h"
#include "agent/torch/backward_node.h"
#include "agent/torch/torch_python.h"
#include "agent/torchscript/interpreter_state.h"
#include "agent/wiring/features.h"

namespace castscope::agent {
namespace {

// The row's module is gone: nothing can match this row again.
bool is_gone(const SiteEntry& e) { return e.module != nullptr && !ModuleNames::same(e.module_weakref, e.module); }
std::uint64_t hash_of_pass(const PassEntry& e) { return pass_hash(e.call_site, e.region, e.traced); }

// PyTorch's own Python code asked for the cast, and not on the job's behalf.
bool is_pytorchs_own(Definitions& definitions, const RawStack& raw) {
  const Definitions::Place asker = definitions.asker(raw);
  return definitions.is_in_torch(asker.file) && !converts_as_told(asker.file);
}

// Finds the cause of a cast that cached_cast did not make.
void find_cause(ThreadState& t, const CallFacts& facts, const RawStack& raw, const void* native_caller,
                lanes::SiteDefinition& d) {
  Recording& r = *g_process.recording.load();
  const bool below_autocast = t.enabled_by_raw[facts.device % 32] == 1 && !autocast_enabled(facts.device);
  const Definitions::Place innermost = r.definitions.innermost(raw);
  const NativePlace place =
      native_place(r.native_functions, native_caller, innermost, facts.phase, below_autocast, t.in_copy_kernel);
  d.cause = place.cause;
  if (d.cause == lanes::Cause::kUserTo && may_cast_for_fsdp(innermost.file) &&
      r.definitions.passes_through(raw, [](const Definitions::Place& at) { return is_fsdp(at.file); }))
    d.cause = lanes::Cause::kFsdp;
  else if (d.cause == lanes::Cause::kUserTo && is_pytorchs_own(r.definitions, raw))
    d.cause = lanes::Cause::kPytorch;
  d.op = r.definitions.op(place.cause == lanes::Cause::kBackward ? backward_node_name() : place.op);
  if (d.cause == lanes::Cause::kScript) r.script_weights.called_from(native_caller);
}

// Holds what name_site has found out about a cast that has no site yet; its parts below read it.
struct Sight {
  Sight(const void* caller, const void* cast) : native_caller(caller), tensor(cast) {}

  const void* native_caller;
  const void* tensor;
  RawStack raw;
  std::shared_ptr<const script::NodePlace> in_graph;  // where TorchScript's interpreter is; null: not in a graph
  std::shared_ptr<const script::NodeNote> node;       // what is known of the node there; null: nothing
};

// Names the stack and returns the module whose code it is in. The caller owns the module's weak reference.
ModuleNames::Module name_stack(const MayWait& may_wait, ThreadState& t, RawStack& raw, lanes::SiteDefinition& d) {
  Recording& r = *g_process.recording.load();
  ModuleNames::Module module;
  const bool knew_modules = PythonStack::module_call_code.load(std::memory_order_relaxed) != nullptr;
  if (g_process.has_python || script::in_use()) {
    capture_stack(t, raw);
    d.stack = r.definitions.stack(may_wait, raw);
  }
  if (g_process.has_python) {
    // The very first stack teaches which code calls modules: capture it again with that knowledge.
    if (!knew_modules) capture_stack(t, raw);
    module = r.modules.find(may_wait, raw);
    drop_renamed_modules(t);
  }
  return module;
}

// Finds the cause of a cast that is not autocast's in eager code. The node of a graph may know more of it.
NamedByNode name_other_cause(ThreadState& t, const CallFacts& facts, const Sight& seen, lanes::SiteDefinition& d) {
  find_cause(t, facts, seen.raw, seen.native_caller, d);
  NamedByNode named;
  const bool is_cast = seen.node != nullptr && seen.node->is_cast;
  if (is_cast && seen.node->baked) {
    d.cause = lanes::Cause::kScript;
    if (!seen.node->in_own_region) d.flags = lanes::kSiteBaked;
  }
  const bool by_graph = d.cause == lanes::Cause::kScript || d.cause == lanes::Cause::kBackward;
  if (is_cast && by_graph) named = name_by_node(t, *seen.node, seen.in_graph.get(), d);
  if (d.cause == lanes::Cause::kScript) d.why = lanes::WhyNotCached::kScript;
  const auto gathers = [](const Definitions::Place& at) { return gathers_parameters(at.file, at.function); };
  if (d.cause == lanes::Cause::kFsdp && g_process.recording.load()->definitions.passes_through(seen.raw, gathers))
    named.role = lanes::Role::kWeight;
  return named;
}

// Names the cause and the operator; returns what is known of the argument.
NamedByNode name_cause(ThreadState& t, const CallKey& key, const CallFacts& facts, const Sight& seen,
                       lanes::SiteDefinition& d) {
  Recording& r = *g_process.recording.load();
  switch (facts.cause) {
    case lanes::Cause::kAutocast: {
      const CallSite site = r.call_sites.find(key.call_site, seen.native_caller, seen.tensor);
      d.call_site = site.id;
      return {site.op, site.argument};
    }
    case lanes::Cause::kReflatten:
      d.op = r.definitions.op("aten::_cudnn_rnn");
      return {.op = {}, .argument = {}, .role = lanes::Role::kWeight};
    case lanes::Cause::kFsdp:
      d.op = r.definitions.op("aten::_foreach_copy_");
      return {.op = {}, .argument = {}, .role = lanes::Role::kWeight};
    case lanes::Cause::kAnnotation:
      d.call_site = static_cast<std::uint32_t>(key.call_site);
      return {t.annotated.function, t.annotated.argument};
    default:
      return name_other_cause(t, facts, seen, d);
  }
}

// PyTorch folds constants while it optimizes a graph. It casts a constant once for each use in the graph then, and does
// not cast it again when the graph runs. Like casts in the rehearsals of a tracer, rules about repeats must not judge
// such a cast.
bool is_done_once(ThreadState& t, const RawStack& raw) {
  const bool is_folded = t.script != nullptr && t.script->node != nullptr;
  return is_folded || is_rehearsed_by_tracer(g_process.recording.load()->definitions, raw);
}

// Names what is cast: its role in the operator, and whether it is a parameter.
void name_source(const MayWait& may_wait, const CallFacts& facts, const NamedByNode& named, const Sight& seen,
                 lanes::SiteDefinition& d) {
  CallFacts known = facts;
  known.parameter = facts.parameter || is_marked_parameter(may_wait, seen.tensor);
  if (known.parameter) d.flags |= lanes::kSiteParameter;
  d.role = named.role != lanes::Role::kUnknown
               ? named.role
               : role_of(may_wait, known, d.cause, named.op, named.argument, seen.raw, seen.tensor);
}

// Tells the features that want to hear of a site which this thread sees for the first time.
void announce_site(const MayWait& may_wait, ThreadState& t, const CallFacts& facts, const Sight& seen,
                   const lanes::SiteDefinition& d, std::uint32_t site, const Counted& counted) {
  if (seen.node != nullptr && counted.site != 0 && d.cause != lanes::Cause::kBackward)
    tell_disabled(may_wait, t, *seen.node, seen.raw.script, site, d);
  const auto& in_graph = seen.in_graph;
  if (d.cause == lanes::Cause::kScript && in_graph != nullptr && in_graph->region != nullptr && counted.site != 0)
    t.script_sites.insert_or_assign(counted.site, in_graph->region);
  const bool is_weight = d.role == lanes::Role::kWeight || d.role == lanes::Role::kBuffer;
  if (is_weight && d.why != lanes::WhyNotCached::kNone && counted.site != 0) counted.counter->version = 1;
  // FSDP casts what its modules are given, without regard to its meaning. A job that leaves casting to FSDP has no
  // region, and so no deep step.
  if (d.cause == lanes::Cause::kFsdp) g_features.first_cast_was_made(t, seen.tensor, facts.to, counted.site);
}

// Adds the row by which this thread finds the site from now on. The row owns `weakref`.
void add_row(ThreadState& t, const CallKey& key, const Counted& counted, const PyObject* weakref) {
  ModuleNames& modules = g_process.recording.load()->modules;
  const auto take_out = [&](const SiteEntry& e) {
    if (!is_gone(e)) return false;
    modules.give_back(e.module_weakref);
    return true;
  };
  if (t.sites.crowded()) t.sites.grow(hash_of_site, take_out);
  // A row on the way whose module is gone serves again: a loop that makes new modules, which get each other's
  // addresses, then needs only the rows of one module.
  SiteEntry* row = t.sites.begin(key.hash());
  while (row->counter != nullptr && !take_out(*row)) row = t.sites.next(row);
  if (row->counter == nullptr) t.sites.count_row();
  *row = {key.stack, key.call_site, key.packed, key.module, key.region, counted.site, weakref, counted.counter};
}

Counted name_site(const MayWait& may_wait, ThreadState& t, const CallKey& key, const CallFacts& facts,
                  const void* native_caller, const void* tensor) {
  Recording& r = *g_process.recording.load();
  if (t.sites.used() >= kMaxRows) return overflow_of(t, facts.cause);
  g_features.code_is_met(t, key.stack, key.module);
  Sight seen(native_caller, tensor);
  lanes::SiteDefinition d{};
  ModuleNames::Module module = name_stack(may_wait, t, seen.raw, d);
  if (facts.parameter && facts.requires_grad && facts.leaf) r.weights.watch(tensor);
  seen.in_graph = script_place(t);
  d.module = module_of_place(seen.raw, module.id, seen.in_graph.get());
  d.region = key.region;
  d.cause = facts.cause;
  d.phase = facts.phase;
  d.why = facts.why;
  d.forward_site = facts.forward_site;
  if (seen.raw.in_script) seen.node = script::present_note();
  const NamedByNode named = name_cause(t, key, facts, seen, d);
  if (is_done_once(t, seen.raw)) d.flags |= lanes::kSiteTracing;
  name_source(may_wait, facts, named, seen, d);
  d.from = facts.from;
  d.to = facts.to;
  d.device = facts.device;
  const std::uint32_t site = r.definitions.site(d);
  const Counted counted = counter_of(t, site, facts.cause);
  announce_site(may_wait, t, facts, seen, d, site, counted);
  // A first sight may teach which code calls modules: the key was made without that knowledge.
  if (key.module == nullptr) r.modules.give_back(std::exchange(module.weakref, nullptr));
  add_row(t, key, counted, module.weakref);
  return counted;
}

lanes::Counter* name_pass(ThreadState& t, std::uint64_t call_site, std::uint32_t region, bool traced,
                          std::uint8_t device, const void* native_caller, const void* tensor) {
  Recording& r = *g_process.recording.load();
  if (t.passes.used() >= kMaxRows) return &t.lane.lane().overflow;
  const auto python = summary_of(t);
  g_features.code_is_met(t, python.hash, python.module);
  lanes::SiteDefinition d{};
  d.call_site = r.call_sites.find(call_site, native_caller, tensor).id;
  d.region = region;
  d.cause = lanes::Cause::kAutocast;
  d.device = device;
  d.flags = traced ? lanes::kSiteTraced : lanes::kSitePassThrough;
  lanes::Counter* counter = counter_of(t, r.definitions.site(d), d.cause).counter;
  if (t.passes.crowded()) t.passes.grow(hash_of_pass, [](const PassEntry&) { return false; });
  PassEntry* row = t.passes.begin(pass_hash(call_site, region, traced));
  while (row->counter != nullptr) row = t.passes.next(row);
  *row = {call_site, region, traced ? 1u : 0u, counter};
  t.passes.count_row();
  return counter;
}

}  // namespace

// Running out of memory must not become the job's exception: the call is still counted, without a name. (Only
// std::exception is caught: a thread that is being cancelled unwinds through here with something else.)
Counted resolve_site(const MayWait& may_wait, ThreadState& t, const CallKey& key, const CallFacts& facts,
                     const void* native_caller, const void* tensor) {
  try {
    return name_site(may_wait, t, key, facts, native_caller, tensor);
  } catch (const std::exception&) {
    return overflow_of(t, facts.cause);
  }
}

lanes::Counter* resolve_pass(ThreadState& t, std::uint64_t call_site, std::uint32_t region, bool traced,
                             std::uint8_t device, const void* native_caller, const void* tensor) {
  try {
    return name_pass(t, call_site, region, traced, device, native_caller, tensor);
  } catch (const std::exception&) {
    return &t.lane.lane().overflow;
  }
}

}  // namespace castscope::agent
