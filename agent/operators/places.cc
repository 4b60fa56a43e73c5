#include "agent/operators/places.h"

#include <atomic>
#include <mutex>

#include "agent/casts/planned_casts.h"
#include "agent/casts/role.h"
#include "agent/memory/own_memory.h"
#include "agent/regions/scaling.h"
#include "agent/regions/script_regions.h"
#include "agent/session/call_stack.h"

namespace castscope::operators {

using agent::MayWait;
using agent::mix;
using agent::ThreadState;
using lanes::Role;

namespace {

lanes::Counter* counter_of(ThreadState& t, std::uint32_t id) {
  if (id == 0) return nullptr;
  auto [at, fresh] = t.counters.try_emplace(id, nullptr);
  if (fresh) at->second = agent::g_process.recording.load()->segment.new_counter(&t.lane.lane(), id);
  return at->second;
}

// The rule of role.h, and then the origin of the tensor, which deep steps know: the result of an operator is not an
// input, and in backward a tensor that forward made is not a gradient.
Role role_of(const MayWait& may_wait, const GivenTensor& g, const PlaceKey& key, const agent::RawStack& raw) {
  if (g.producer.before.role != Role::kUnknown) return g.producer.before.role;
  const More more = More::of(key.more);
  if (!c10::isFloatingType(static_cast<c10::ScalarType>(g.dtype)))
    return g.producer.use == 0 ? Role::kInput : Role::kActivation;
  agent::CallFacts facts;
  facts.phase = more.phase;
  facts.requires_grad = (g.flags & lanes::kOperandRequiresGrad) != 0;
  facts.leaf = g.leaf;
  facts.view = g.view;
  facts.parameter = g.parameter || agent::is_marked_parameter(may_wait, g.identity.tensor);
  facts.grad_mode = more.grad_mode;
  const std::string_view argument =
      g.argument < key.info->arguments.size() ? std::string_view(key.info->arguments[g.argument]) : "";
  const Role role =
      agent::role_of(may_wait, facts, lanes::Cause::kAutocast, key.info->name, argument, raw, g.identity.tensor);
  if (g.producer.use == 0) return role;
  const bool made_in_backward = g.producer.phase == lanes::Phase::kBackward;
  if (role == Role::kGradient && !made_in_backward) return Role::kActivation;
  if (role == Role::kInput) return made_in_backward ? Role::kGradient : Role::kActivation;
  return role;
}

std::string joined(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list.append(list.empty() ? "" : ",").append(name);
  return list;
}

Place make(const MayWait& may_wait, const ThreadState& t, const PlaceKey& key, const GivenTensor* given,
           std::size_t n) {
  agent::Recording& r = *agent::g_process.recording.load();
  Place p;
  agent::RawStack raw;
  if (agent::g_process.has_python) {
    agent::capture_stack(t, raw);
    const bool knew_modules = agent::PythonStack::module_call_code.load(std::memory_order_relaxed) != nullptr;
    p.use.stack = r.definitions.stack(may_wait, raw);
    if (!knew_modules) agent::capture_stack(t, raw);
    const agent::ModuleNames::Module module = r.modules.find(may_wait, raw);
    p.use.module = agent::module_of_place(raw, module.id, agent::script_place(t).get());
    if (raw.in_trace) p.use.flags |= lanes::kUseTraced;
    if (agent::is_rehearsed_by_tracer(r.definitions, raw)) p.use.flags |= lanes::kUseTracing;
    if (module.weakref != nullptr)
      p.module = std::allocate_shared<const ModuleReference>(memory::Own<ModuleReference>(), module.weakref);
    const bool writes = (key.info->flags & lanes::kUseWrites) != 0;
    p.scaling = agent::scaling_at(r.definitions.innermost(raw), key.info->base, writes);
  }
  const More more = More::of(key.more);
  p.use.op = r.definitions.op(key.info->name);
  p.use.arguments = r.definitions.string(joined(key.info->arguments));
  p.use.region = key.region;
  p.use.node = key.node;
  p.use.phase = more.phase;
  p.use.device = more.device;
  p.use.operands = static_cast<std::uint16_t>(n);
  for (std::size_t i = 0; i < n; ++i) {
    const GivenTensor& g = given[i];
    const bool boxes = g.argument < 64 && (key.info->boxes >> g.argument & 1) != 0;
    const auto flags = static_cast<std::uint8_t>(g.flags | (boxes ? lanes::kOperandBoxes : 0) |
                                                 (g.elsewhere ? lanes::kOperandElsewhere : 0));
    p.operands[i] = {g.argument, g.dtype, role_of(may_wait, g, key, raw), flags};
  }
  return p;
}

// Whether its module is still that of the key: another module may have got the address.
bool is_of(const Place& place, const PlaceKey& key) {
  return key.module == nullptr || place.module == nullptr || place.module->is(key.module);
}

// Shared by all threads: each place waits for the GIL once, however many threads pass it.
struct Named {
  std::mutex mutex;
  memory::OwnMap<PlaceKey, Place, PlaceHash> places;
  memory::OwnSet<std::uint64_t> code;   // that calls them: code_key
  std::atomic<std::uint64_t> count{0};  // of all that were ever named
};
Named* g_named = new Named;

std::uint64_t code_key(std::uint64_t stack, const void* module) {
  return mix(stack, reinterpret_cast<std::uint64_t>(module), 1);
}

Place name(const MayWait& may_wait, const ThreadState& t, const PlaceKey& key, const GivenTensor* given,
           std::size_t n) {
  {
    std::lock_guard lock(g_named->mutex);
    const auto found = g_named->places.find(key);
    if (found != g_named->places.end() && is_of(found->second, key)) return found->second;
  }
  Place place = make(may_wait, t, key, given, n);
  std::lock_guard lock(g_named->mutex);
  if (g_named->places.size() >= Places::kMost) g_named->places.clear(), g_named->code.clear();
  g_named->places.insert_or_assign(key, place);
  g_named->code.insert(code_key(key.stack, key.module));
  g_named->count.fetch_add(1, std::memory_order_relaxed);
  return place;
}

}  // namespace

ModuleReference::~ModuleReference() {
  if (agent::Recording* r = agent::g_process.recording.load()) r->modules.give_back(weakref_);
}

std::uint64_t places_named() { return g_named->count.load(std::memory_order_relaxed); }

bool is_known_code(std::uint64_t stack, const void* module) {
  std::lock_guard lock(g_named->mutex);
  return g_named->code.contains(code_key(stack, module));
}

void places_after_fork() { g_named = new Named; }

std::size_t PlaceHash::operator()(const PlaceKey& k) const {
  std::uint64_t h = mix(k.stack, reinterpret_cast<std::uint64_t>(k.module), reinterpret_cast<std::uint64_t>(k.info));
  h = mix(h, std::uint64_t{k.region} << 32 | k.node, k.more);
  return mix(h ^ k.arguments, k.tensors[0], k.tensors[1]);
}

std::size_t Places::FlowHash::operator()(const FlowKey& k) const {
  return mix(k.how, k.from, std::uint64_t{k.to} << 1);
}

void Places::know_stack(const MayWait& may_wait, ThreadState& t, std::uint64_t hash) {
  if (!agent::g_process.has_python || stacks_.contains(hash)) return;
  if (stacks_.size() >= kMost) stacks_.clear();
  agent::RawStack raw;
  agent::capture_stack(t, raw);
  stacks_.emplace(hash, agent::g_process.recording.load()->definitions.stack(may_wait, raw));
}

Place& Places::find(const MayWait& may_wait, ThreadState& t, const PlaceKey& key, const GivenTensor* given,
                    std::size_t n) {
  const auto found = places_.find(key);
  if (found != places_.end()) {
    if (is_of(found->second, key)) return found->second;
    places_.erase(found);
  }
  return places_.emplace(key, name(may_wait, t, key, given, n)).first->second;
}

Place::Use& Places::use(ThreadState& t, Place& place, const Outcome& outcome) {
  for (Place::Use& use : place.uses)
    if (use.outcome == outcome) return use;
  lanes::OperatorUseDefinition d = place.use;
  d.computed = outcome.computed;
  d.result = outcome.result;
  d.flags = static_cast<std::uint16_t>(outcome.flags | place.use.flags);
  if (d.operands == 0) d.device = outcome.device;
  std::array<lanes::Operand, lanes::kMostOperands> operands = place.operands;
  for (std::size_t i = 0; i < d.operands; ++i)
    operands[i].entered = static_cast<std::uint8_t>(outcome.entered >> 8 * i);
  const std::uint32_t id = agent::g_process.recording.load()->definitions.operator_use(d, operands.data());
  return place.uses.emplace_back(Place::Use{outcome, id, counter_of(t, id)});
}

void Places::make_room() {
  if (places_.size() >= kMost) places_.clear();
  if (flows_.size() >= 2 * kMost) flows_.clear();
}

void Places::flow(ThreadState& t, std::uint32_t from, std::uint32_t to, std::uint8_t argument, std::uint8_t cast_to) {
  auto [at, fresh] =
      flows_.try_emplace(FlowKey{from, to, static_cast<std::uint16_t>(argument << 8 | cast_to)}, nullptr);
  if (fresh)
    at->second = counter_of(
        t, agent::g_process.recording.load()->definitions.seen(lanes::FlowDefinition{from, to, argument, cast_to, {}}));
  if (at->second != nullptr) lanes::LaneWriter::add(at->second->casts, 1);
}

}  // namespace castscope::operators
