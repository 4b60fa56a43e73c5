#include "agent/compile/graphs.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <optional>

#include "agent/session/counters.h"
#include "agent/session/facts.h"
#include "agent/torch/autocast_state.h"

namespace castscope::compile {
namespace {

using agent::Recording;
using agent::ThreadState;

// The casts of one run of a graph at one site.
struct SiteOfGraph {
  TracedSite what;
  lanes::Cause cause{};
  lanes::Phase phase{};
  std::uint64_t casts = 0, bytes = 0;
  std::uint32_t site = 0;  // its number in `recording`
};

// A matrix product of a graph. Eager code has it too: the dtype that each is computed in shows where they disagree.
struct ProductOfGraph {
  std::vector<CodeLine> stack;
  std::string op;
  std::uint8_t dtype = kNoFloat;
  std::uint32_t region = 0;
  std::uint64_t times = 0;
  std::uint32_t use = 0;  // its number in `recording`
};

struct Compiled {
  long attempt = -1;
  bool has_backward = false;
  std::vector<TracedSite> traced[2];         // by Part
  std::map<std::string, GraphCast> forward;  // by the name of the node: a backward graph may make some of them again
  std::vector<SiteOfGraph> parts[2];
  std::vector<ProductOfGraph> products;  // of the forward graph
  const Recording* recording[2] = {nullptr, nullptr};
};

struct Registry {
  std::mutex mutex;
  std::map<std::string, Compiled, std::less<>> compiled;  // by compile id
};
Registry& registry() {
  static auto* const it = new Registry;
  return *it;
}
std::atomic<bool> g_any{false};

// Forgets what an earlier attempt, which was given up, had found.
Compiled& compilation_locked(const Compilation& of) {
  Compiled& c = registry().compiled[of.id];
  if (c.attempt != of.attempt) {
    c = {};
    c.attempt = of.attempt;
  }
  return c;
}

const TracedSite* whose_stack_has(const Compiled& c, const Place& place) {
  for (const auto& part : c.traced)
    for (const TracedSite& traced : part)
      if (std::ranges::find(traced.cast.places, place) != traced.cast.places.end()) return &traced;
  return nullptr;
}

// The stack of a line that the text names. Where some cast has that line in its stack, the callers are known too, and
// that cast is given as well.
std::pair<std::vector<CodeLine>, const TracedSite*> stack_of_line(const Compiled& c, const Place& place) {
  if (place.line == 0) return {};
  const TracedSite* near = whose_stack_has(c, place);
  if (near == nullptr) return {{{place.file, place.function, place.line}}, nullptr};
  const auto at = std::ranges::find(near->cast.places, place) - near->cast.places.begin();
  return {{near->stack.begin() + at, near->stack.end()}, near};
}

// The region of all casts that were seen while the code was traced; 0 where there are several.
std::uint32_t only_region(const Compiled& c) {
  const auto& traced = c.traced[0];
  const auto same = [&](const TracedSite& site) { return site.region == traced.front().region; };
  return !traced.empty() && std::ranges::all_of(traced, same) ? traced.front().region : 0;
}

// A conversion that nobody asked for.
TracedSite of_graph_itself(const Compiled& c, const Node& node, std::string op) {
  TracedSite site;
  site.op = std::move(op);
  const auto [stack, near] = stack_of_line(c, node.place);
  site.stack = stack;
  if (near != nullptr) {
    site.device = near->device;
    site.region = near->region;
  } else if (!c.traced[0].empty()) {  // autocast cast nothing on this line: the region is most likely the same
    site.device = c.traced[0].front().device;
    site.region = only_region(c);
  }
  return site;
}

lanes::Cause cause_of(Whose whose, Part part) {
  if (whose == Whose::kAutocast) return lanes::Cause::kCompiled;
  if (whose == Whose::kUser) return lanes::Cause::kUserTo;
  return part == Part::kBackward ? lanes::Cause::kBackward : lanes::Cause::kOperator;
}

std::string user_of(const std::vector<Node>& graph, std::uint32_t node) {
  for (const Node& other : graph)
    if (std::ranges::find(other.inputs, node) != other.inputs.end()) return other.op;
  return {};
}

bool same_site(const SiteOfGraph& a, const SiteOfGraph& b) {
  const TracedSite &x = a.what, &y = b.what;
  return a.cause == b.cause && a.phase == b.phase && x.cast.from == y.cast.from && x.cast.to == y.cast.to &&
         x.op == y.op && x.argument == y.argument && x.region == y.region && x.role == y.role && x.stack == y.stack &&
         x.parameter == y.parameter;
}

void add(std::vector<SiteOfGraph>& sites, SiteOfGraph site) {
  const auto known = std::ranges::find_if(sites, [&](const SiteOfGraph& other) { return same_site(other, site); });
  if (known == sites.end()) {
    sites.push_back(std::move(site));
    return;
  }
  known->casts += site.casts;
  known->bytes += site.bytes;
}

void read_casts(Compiled& c, Part part, const std::vector<Node>& graph) {
  std::vector<TracedCast> traced;
  for (const TracedSite& site : c.traced[static_cast<int>(part)]) traced.push_back(site.cast);
  for (GraphCast& cast : casts_of(graph, traced)) {
    const Node& node = graph[cast.node];
    auto source = static_cast<int>(part);
    const auto before = c.forward.find(node.name);
    if (part == Part::kForward) {
      c.forward[node.name] = cast;
    } else if (cast.whose == Whose::kGraph && before != c.forward.end()) {  // the forward's, made a second time
      cast.whose = before->second.whose;
      cast.traced = before->second.traced;
      source = static_cast<int>(Part::kForward);
    }
    SiteOfGraph site;
    site.what = cast.whose == Whose::kGraph ? of_graph_itself(c, node, user_of(graph, cast.node))
                                            : c.traced[source][cast.traced];
    site.what.cast.from = cast.from;
    site.what.cast.to = cast.to;
    site.cause = cause_of(cast.whose, part);
    site.phase = part == Part::kBackward ? lanes::Phase::kBackward : lanes::Phase::kForward;
    site.casts = 1;
    site.bytes = node.bytes;
    add(c.parts[static_cast<int>(part)], std::move(site));
  }
}

void read_products(Compiled& c, const std::vector<Node>& graph) {
  for (const Node& node : graph) {
    if (!is_product(node) || node.place.line == 0) continue;
    const auto [stack, near] = stack_of_line(c, node.place);
    const ProductOfGraph product{stack, node.op, node.dtype, near == nullptr ? 0 : near->region, 1};
    const auto known = std::ranges::find_if(c.products, [&](const ProductOfGraph& other) {
      return other.stack == product.stack && other.op == product.op && other.dtype == product.dtype;
    });
    if (known == c.products.end())
      c.products.push_back(product);
    else
      ++known->times;
  }
}

std::uint32_t define(Recording& r, const ProductOfGraph& product) {
  lanes::OperatorUseDefinition d{};
  d.stack = r.definitions.stack(product.stack);
  d.op = r.definitions.op(product.op);
  d.region = product.region;
  d.phase = lanes::Phase::kForward;
  d.computed = d.result = product.dtype;
  d.flags = lanes::kUseCompiled;
  return r.definitions.operator_use(d, nullptr);
}

std::uint32_t define(Recording& r, const SiteOfGraph& site) {
  const TracedSite& what = site.what;
  lanes::SiteDefinition d{};
  d.stack = r.definitions.stack(what.stack);
  if (site.cause == lanes::Cause::kCompiled)
    d.call_site = r.definitions.planned_call_site(what.op, what.argument, what.argument_name);
  else
    d.op = r.definitions.op(what.op);
  d.region = what.region;
  d.role = what.role;
  d.cause = site.cause;
  d.why = lanes::WhyNotCached::kNotAutocast;
  d.phase = site.phase;
  d.from = what.cast.from;
  d.to = what.cast.to;
  d.device = what.device;
  d.flags = static_cast<std::uint8_t>(lanes::kSiteCompiled | (what.parameter ? lanes::kSiteParameter : 0));
  return r.definitions.site(d);
}

// The event's duration is not known: nothing marks its begin.
void publish(ThreadState& t, Recording& r, std::uint32_t site, std::uint64_t bytes) {
  lanes::Event* e = t.lane.begin_event();
  if (e == nullptr) return;
  *e = {};
  e->time = t.lane.now();
  e->bytes = bytes;
  e->site = site;
  e->step = r.steps.current();
  e->region = t.region_serial;
  e->kind = lanes::EventKind::kCast;
  t.lane.publish();
}

void define_all(Recording& r, Compiled& c, Part part) {
  const auto i = static_cast<int>(part);
  if (c.recording[i] == &r) return;
  for (SiteOfGraph& site : c.parts[i]) site.site = define(r, site);
  if (part == Part::kForward)
    for (ProductOfGraph& product : c.products) product.use = define(r, product);
  c.recording[i] = &r;
}

// The backward pass was traced under the forward pass's autocast but runs outside of it: eager autograd would not cast
// there. The engine gives its threads the autocast state of the thread that called backward.
void look_at_backward(ThreadState& t, const Compiled& c) {
  for (const TracedSite& site : c.traced[static_cast<int>(Part::kBackward)])
    if (site.ambient && !agent::autocast_enabled(site.device))
      note_fact_as_known(t, {.kind = lanes::FactKind::kCompileCastsBackward,
                             .detail = site.cast.to,
                             .text = site.op,
                             .stack = agent::g_process.recording.load()->definitions.stack(site.stack)});
}

// PyTorch reads the default dtype once, when the code is compiled, and does not guard it.
void look_at_default_dtypes(ThreadState& t, const Compiled& c) {
  for (const TracedSite& site : c.traced[static_cast<int>(Part::kForward)])
    if (site.default_dtype_stack != 0 && agent::autocast_dtype(site.device) != site.cast.to)
      note_fact_as_known(
          t,
          {.kind = lanes::FactKind::kCompileStateUnguarded, .detail = site.cast.to, .stack = site.default_dtype_stack});
}

}  // namespace

void add_traced(const Compilation& of, Part part, TracedSite site) {
  std::lock_guard lock(registry().mutex);
  compilation_locked(of).traced[static_cast<int>(part)].push_back(std::move(site));
}

// Compile ids can be given again, after torch._dynamo.reset.
void begin(const Compilation& of) {
  std::lock_guard lock(registry().mutex);
  registry().compiled.erase(of.id);
}

std::vector<CodeLine> stack_at(const Compilation& of, const Place& place) {
  std::lock_guard lock(registry().mutex);
  return stack_of_line(compilation_locked(of), place).first;
}

void add_graph(const Compilation& of, Part part, std::string_view text) {
  const auto graph = read_graph(text);
  std::lock_guard lock(registry().mutex);
  Compiled& c = compilation_locked(of);
  read_casts(c, part, graph);
  if (part == Part::kForward) read_products(c, graph);
  c.recording[static_cast<int>(part)] = nullptr;
  c.has_backward |= part == Part::kBackward;
  g_any.store(true, std::memory_order_relaxed);
}

bool has_backward(std::string_view id) {
  std::lock_guard lock(registry().mutex);
  const auto found = registry().compiled.find(id);
  return found != registry().compiled.end() && found->second.has_backward;
}

bool any_graph() { return g_any.load(std::memory_order_relaxed); }

bool graph_runs(ThreadState& t, std::string_view id, Part part) noexcept try {
  Recording& r = *agent::g_process.recording.load();
  std::lock_guard lock(registry().mutex);
  const auto found = registry().compiled.find(id);
  if (found == registry().compiled.end()) return false;
  define_all(r, found->second, part);
  if (part == Part::kBackward) look_at_backward(t, found->second);
  if (part == Part::kForward) {
    look_at_default_dtypes(t, found->second);
    for (const ProductOfGraph& product : found->second.products)
      if (product.use != 0)
        lanes::LaneWriter::add(agent::counter_of(t, product.use, lanes::Cause::kUnknown).counter->casts, product.times);
  }
  for (const SiteOfGraph& site : found->second.parts[static_cast<int>(part)]) {
    lanes::Counter& counter = *agent::counter_of(t, site.site, site.cause).counter;
    lanes::LaneWriter::add(counter.casts, site.casts);
    lanes::LaneWriter::add(counter.bytes, site.bytes);
    for (std::uint64_t i = 0; i < site.casts; ++i) publish(t, r, site.site, site.bytes / site.casts);
  }
  return true;
} catch (const std::exception&) {  // out of memory: this run is not counted
  return true;
}

void hold_graphs() { registry().mutex.lock(); }
void release_graphs() { registry().mutex.unlock(); }

}  // namespace castscope::compile
