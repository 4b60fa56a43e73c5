// TorchScript casts by a pass over a graph, before its first run. The graph after the pass is compared with the graph
// before; each new cast gets the source range of the operator that it serves, since the pass gives it none. Source
// ranges are for debugging only: nothing is compiled or run in another way.
#include <c10/util/Exception.h>
#include <torch/csrc/jit/frontend/source_range.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <optional>
#include <unordered_set>

#include "agent/script/graph_hooks.h"
#include "agent/session/script_facts.h"
#include "agent/torch/originals.h"
#include "agent/torch/own_question.h"
#include "agent/torchscript/graph_places.h"
#include "agent/torchscript/graph_regions.h"
#include "agent/torchscript/interpreter_state.h"
#include "agent/torchscript/known_ranges.h"
#include "agent/torchscript/ranges.h"

namespace castscope::script {
namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;
using Pass = void (*)(const std::shared_ptr<Graph>&);

bool is_cast(const Node& node) {
  static const auto kReduced = c10::Symbol::fromQualString("aten::_autocast_to_reduced_precision");
  static const auto kFull = c10::Symbol::fromQualString("aten::_autocast_to_full_precision");
  return node.kind() == kReduced || node.kind() == kFull;
}

// Whether the node gives back its first argument in another view.
bool is_view(const Node& node) {
  static const std::unordered_set<c10::Symbol> kViews = [] {
    std::unordered_set<c10::Symbol> kinds;
    for (const char* name : {"t", "transpose", "permute", "view", "reshape", "expand", "squeeze", "unsqueeze", "select",
                             "slice", "flatten", "detach", "contiguous", "numpy_T"})
      kinds.insert(c10::Symbol::fromQualString(std::string("aten::") + name));
    return kinds;
  }();
  return kViews.contains(node.kind());
}

// The role that the graph gives a value: an attribute of a module, a constant of a frozen one, a result of an operator.
// For a value that was given to the graph, the tensor has to tell.
lanes::Role role_in_graph(const Value* value) {
  const Node* from = value->node();
  while (is_view(*from) && !from->inputs().empty()) {
    value = from->input(0);
    from = value->node();
  }
  if (from->kind() == c10::prim::Constant) return lanes::Role::kWeight;
  if (from->kind() == c10::prim::GetAttr) {
    const auto type = from->input()->type()->cast<c10::ClassType>();
    const auto slot = type == nullptr ? std::nullopt : type->findAttributeSlot(from->s(c10::attr::name));
    if (slot.has_value() && type->is_parameter(*slot)) return lanes::Role::kWeight;
    if (slot.has_value() && type->is_buffer(*slot)) return lanes::Role::kBuffer;
    return lanes::Role::kUnknown;
  }
  return from->kind().is_aten() ? lanes::Role::kActivation : lanes::Role::kUnknown;
}

void give_note(Node& cast, const RegionPointer& region) {
  if (cast.outputs().size() != 1 || cast.output()->uses().empty()) return;
  const torch::jit::Use& use = cast.output()->uses().front();
  Node& consumer = *use.user;
  NodeNote what{.is_cast = true, .op = consumer.kind().toQualString()};
  what.argument = static_cast<std::uint32_t>(use.offset);
  if (const c10::FunctionSchema* schema = consumer.maybeSchema()) {
    if (!schema->overload_name().empty()) what.op += "." + schema->overload_name();
    if (use.offset < schema->arguments().size()) what.argument_name = schema->arguments()[use.offset].name();
  }
  what.role = role_in_graph(cast.input(0));
  what.region = region;
  what.loaded = is_loaded(consumer.sourceRange()) && is_traced(consumer.sourceRange());
  if (const auto known = note_of(consumer.sourceRange())) {
    what.disabled = known->disabled;
    what.traced = known->traced;
  }
  cast.setSourceRange(own_range(original_range(consumer.sourceRange()), std::move(what)));
  if (const auto chain = consumer.callstack()) cast.setCallStack(*chain);
}

// The cast was planned in the graph of a function that was inlined since: its caller knows what the argument is.
void refine_role(Node& cast) {
  const auto known = note_of(cast.sourceRange());
  if (known == nullptr || known->role != lanes::Role::kUnknown) return;
  NodeNote what = *known;
  what.role = role_in_graph(cast.input(0));
  if (what.role != lanes::Role::kUnknown) cast.setSourceRange(own_range(cast.sourceRange(), std::move(what)));
}

// Eager autocast does not know the region: it casts operators in it, if it is on around the call.
void note_disabled(Node& node, const RegionPointer& region) {
  const auto known = note_of(node.sourceRange());
  if (!node.kind().is_aten() || (known != nullptr && known->left.empty()) || (known != nullptr && known->disabled))
    return;
  NodeNote what = known == nullptr ? NodeNote() : *known;
  what.disabled = region;
  node.setSourceRange(own_range(original_range(node.sourceRange()), std::move(what)));
}

// Optional[Tensor], List[Tensor], Tuple[Tensor, int], …: not Tensor itself, which the pass casts.
bool holds_tensors(const c10::Type& type) {
  for (const auto& part : type.containedTypes())
    if (part->kind() == c10::TypeKind::TensorType || holds_tensors(*part)) return true;
  return false;
}

// "bias: Optional[Tensor]"
std::string arguments_left(const Node& node) {
  const c10::FunctionSchema* schema = node.maybeSchema();
  std::string left;
  for (std::size_t i = 0; schema != nullptr && i < node.inputs().size() && i < schema->arguments().size(); ++i) {
    const c10::TypePtr& type = node.input(i)->type();
    if (!holds_tensors(*type)) continue;
    left += (left.empty() ? "" : ", ") + schema->arguments()[i].name() + ": " + type->annotation_str();
  }
  return left;
}

// Where the pass casts some arguments of an operator and not others, it may raise.
void note_left_arguments(Node& node) {
  if (!node.kind().is_aten() || std::ranges::none_of(node.inputs(), [](auto* in) { return is_cast(*in->node()); }))
    return;
  std::string left = arguments_left(node);
  const auto known = note_of(node.sourceRange());
  if (left == (known == nullptr ? "" : known->left)) return;
  NodeNote what = known == nullptr ? NodeNote() : *known;
  what.op = node.kind().toQualString();
  what.left = std::move(left);
  node.setSourceRange(own_range(original_range(node.sourceRange()), std::move(what)));
}

// The dtype that a cast was made for; nothing for a cast to float32.
std::optional<std::uint8_t> dtype_of(const Node& cast, std::uint8_t device) {
  if (cast.inputs().size() < 5) return std::nullopt;
  const auto dtype = torch::jit::toIValue(cast.input(static_cast<c10::DeviceType>(device) == c10::kCUDA ? 3 : 4));
  if (!dtype.has_value() || !dtype->isInt()) return std::nullopt;
  return static_cast<std::uint8_t>(dtype->toInt());
}

// The cast was planned for a function that was inlined since, without its caller's regions: for the regions around the
// script's call.
void note_callers_region(Node& cast, const NodeNote& known, const RegionPointer& region) {
  if (region == nullptr || known.region != nullptr || known.disabled != nullptr) return;
  if (!region->enabled) {
    NodeNote what = known;
    what.disabled = region;
    cast.setSourceRange(own_range(cast.sourceRange(), std::move(what)));
  } else if (const auto dtype = dtype_of(cast, region->device); dtype.has_value() && *dtype != region->dtype) {
    agent::note_script_fact({.kind = lanes::FactKind::kScriptIgnoresDtype, .detail = *dtype, .text = "called"},
                            region->place);
  }
}

// The cast was there before this pass. A frozen program that was saved and loaded has casts of which nothing is known.
void look_at_known_cast(Node& cast, const RegionPointer& region) {
  if (note_of(cast.sourceRange()) == nullptr) give_note(cast, region);
  refine_role(cast);
  if (const auto known = note_of(cast.sourceRange())) note_callers_region(cast, *known, region);
}

void look_at(Graph& graph, const std::unordered_set<const Node*>& casts_before) {
  each_node(*graph.block(), [&](Node& node, const RegionPointer& region) {
    if (is_cast(node)) {
      casts_before.contains(&node) ? look_at_known_cast(node, region) : give_note(node, region);
    } else {
      if (region != nullptr && !region->enabled) note_disabled(node, region);
      note_left_arguments(node);
    }
  });
  for (const IgnoredDtype& region : ignored_dtypes(*graph.block()))
    agent::note_script_fact(
        {.kind = lanes::FactKind::kScriptIgnoresDtype, .detail = region.taken, .text = region.constant ? "frozen" : ""},
        region.place);
}

void refused(Graph& graph, const char* text) {
  agent::OwnQuestion own;
  try {
    const std::vector<CodeLine> place = refused_place(*graph.block());
    if (!place.empty()) agent::note_script_fact({.kind = lanes::FactKind::kScriptRefused, .text = text}, place);
  } catch (const std::exception&) {  // out of memory: the error is told without it
  }
}

void run_pass(Pass pass, const std::shared_ptr<Graph>& graph) try { pass(graph); } catch (const c10::Error& e) {
  refused(*graph, e.what_without_backtrace());
  throw;
} catch (const std::exception& e) {
  refused(*graph, e.what());
  throw;
}

void autocast(const std::shared_ptr<Graph>& graph) {
  const auto pass = agent::original<Pass>(CASTSCOPE_HOOK_JIT_AUTOCAST);
  if (agent::g_process.silent()) return pass(graph);
  graph_is_prepared();
  std::unordered_set<const Node*> before;
  try {
    std::unordered_set<const torch::jit::Source*> sources;
    each_node(*graph->block(), [&](Node& node, const RegionPointer&) {
      if (is_cast(node)) before.insert(&node);
      for (const torch::jit::StackEntry& entry : chain_of(node))
        if (sources.insert(entry.range.source().get()).second) look_at_file(entry.range);
    });
  } catch (const std::exception&) {  // out of memory: the graph's casts have no line
    return pass(graph);
  }
  run_pass(pass, graph);
  agent::OwnQuestion own;
  try {
    look_at(*graph, before);
    place_nodes(*graph);
  } catch (const std::exception&) {
  }
}

}  // namespace

void* autocast_hook() { return reinterpret_cast<void*>(&autocast); }

}  // namespace castscope::script
