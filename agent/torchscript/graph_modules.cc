#include "agent/torchscript/graph_modules.h"

#include <functional>
#include <utility>

#include "agent/cpython/python_stack.h"

namespace castscope::script {
namespace {

using c10::ClassTypePtr;
using torch::jit::InlinedCallStackEntry;
using torch::jit::Node;
using torch::jit::Value;

ClassTypePtr module_type(const c10::TypePtr& type) {
  ClassTypePtr as_class = type->cast<c10::ClassType>();
  return as_class != nullptr && as_class->is_module() ? as_class : nullptr;
}

std::string name_of(const ClassTypePtr& type) { return type->name().has_value() ? type->name()->name() : ""; }

std::string joined(const std::string& path, const std::string& name) { return path.empty() ? name : path + "." + name; }

const auto& module_of(const InlinedCallStackEntry& entry) { return std::get<torch::jit::kModuleInstanceInfo>(entry); }

std::uint64_t hash_of(const std::vector<InlinedCallStackEntry>& calls, std::size_t n) {
  std::uint64_t hash = n;
  for (std::size_t i = 0; i < n; ++i) {
    const torch::jit::SourceRange& range = std::get<1>(calls[i]);
    const std::string name = module_of(calls[i]).has_value() ? module_of(calls[i])->instance_name() : "";
    hash = agent::mix(hash, reinterpret_cast<std::uint64_t>(range.source().get()),
                      std::uint64_t{range.start()} << 32 ^ range.end());
    hash = agent::mix(hash, reinterpret_cast<std::uint64_t>(std::get<0>(calls[i])), std::hash<std::string>{}(name));
  }
  return hash;
}

// Finds the paths to an attribute of this name and type in the containers below a module, which are not called
// themselves.
void find_paths(const c10::ClassType& in, const std::string& name, const ClassTypePtr& type, const std::string& path,
                int depth, std::vector<std::string>& found) {
  for (std::size_t i = 0; i < in.numAttributes() && found.size() < 2; ++i) {
    const ClassTypePtr attribute = module_type(in.getAttribute(i));
    if (attribute == nullptr) continue;
    const std::string at = joined(path, in.getAttributeName(i));
    if (in.getAttributeName(i) == name && attribute == type) found.push_back(at);
    if (depth > 0) find_paths(*attribute, name, type, at, depth - 1, found);
  }
}

// The path, if only one fits; else the last name alone.
std::string path_below(const ClassTypePtr& in, const std::string& name, const ClassTypePtr& type) {
  constexpr int kContainers = 2;
  for (int depth = 0; in != nullptr && depth <= kContainers; ++depth) {
    std::vector<std::string> found;
    find_paths(*in, name, type, "", depth, found);
    if (found.size() == 1) return found.front();
    if (found.size() > 1) break;
  }
  return name;
}

}  // namespace

GraphModules::GraphModules(torch::jit::Graph& graph) : graph_(graph) {
  if (!graph.inputs().empty()) root_ = instance_of(graph.inputs().front());
  learn(*graph.block());
}

std::optional<GraphModules::Instance> GraphModules::instance_of(const Value* value) const {
  std::vector<std::string> names;
  const ClassTypePtr type = module_type(value->type());
  while (value->node()->kind() == c10::prim::GetAttr) {
    names.push_back(value->node()->s(c10::attr::name));
    value = value->node()->input();
  }
  const ClassTypePtr root = module_type(value->type());
  if (type == nullptr || root == nullptr || value->node() != graph_.param_node()) return std::nullopt;
  Instance instance{name_of(root), "", type};
  for (auto name = names.rbegin(); name != names.rend(); ++name) instance.path = joined(instance.path, *name);
  return instance;
}

void GraphModules::learn(torch::jit::Block& block) {
  for (Node* node : block.nodes()) {
    learn(*node);
    for (torch::jit::Block* inner : node->blocks()) learn(*inner);
  }
}

// A method reads an attribute of its own module, or of one below it: the own module's attributes tell whose method it
// is.
void GraphModules::learn(Node& node) {
  if (node.kind() != c10::prim::GetAttr || !node.callstack().has_value()) return;
  const Calls calls = (*node.callstack())->vec();
  if (calls.empty() || !module_of(calls.back()).has_value()) return;
  const std::optional<Instance> instance = instance_of(node.input());
  if (!instance.has_value() || instance->type != module_of(calls.back())->class_type()) return;
  const auto [own, first] = by_call_.try_emplace(node.callstack()->get(), *instance);
  if (!first && instance->path.size() < own->second.path.size()) own->second = *instance;
  const auto [at, fresh] = by_calls_.try_emplace(hash_of(calls, calls.size()), *instance);
  if (!fresh && at->second.has_value() && at->second->path != instance->path) at->second.reset();
}

// The module whose method the first `n` calls lead to.
std::optional<GraphModules::Instance> GraphModules::called(const Calls& calls, std::size_t n) const {
  while (n > 0 && !module_of(calls[n - 1]).has_value()) --n;
  if (n == 0) return root_;
  const auto known = by_calls_.find(hash_of(calls, n));
  if (known != by_calls_.end() && known->second.has_value()) return known->second;
  const torch::jit::ModuleInstanceInfo& info = *module_of(calls[n - 1]);
  std::optional<Instance> outer = called(calls, n - 1);
  const std::string name = info.instance_name();
  if (name == "SELF" || name == "INSTANCE_NAME_UNKNOWN") return outer.has_value() ? outer : Instance{"", "", nullptr};
  Instance instance = outer.value_or(Instance{});
  instance.path = joined(instance.path, path_below(instance.type, name, info.class_type()));
  instance.type = info.class_type();
  return instance;
}

std::shared_ptr<const Module> GraphModules::of(const Node& node) const {
  std::optional<Instance> instance = root_;
  if (node.callstack().has_value()) {
    const auto own = by_call_.find(node.callstack()->get());
    const Calls calls = (*node.callstack())->vec();
    instance = own != by_call_.end() ? own->second : called(calls, calls.size());
  }
  if (!instance.has_value() || instance->type == nullptr) return nullptr;
  return std::make_shared<const Module>(Module{instance->path, name_of(instance->type), instance->root_type});
}

}  // namespace castscope::script
