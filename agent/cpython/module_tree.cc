#include "agent/cpython/module_tree.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/cpython/python_stack.h"
#include "agent/memory/own_memory.h"

namespace castscope::agent {
namespace {

// A module that is still to be looked at. The node holds a reference: anything that allocates may run finalizers, which
// may do anything.
struct Node {
  PyObject* module;
  std::string path;    // when it is asked for
  std::size_t length;  // length of the path
};

class ModuleWalk {
 public:
  ModuleWalk(const HeldGil& gil, const PythonApi& api, const VisitModule& visit)
      : gil_(gil), api_(api), visit_(visit) {}
  ~ModuleWalk() {
    for (const Node& node : open_) api_.dec_ref(node.module);
  }
  ModuleWalk(const ModuleWalk&) = delete;
  ModuleWalk& operator=(const ModuleWalk&) = delete;

  void push(PyObject* module, std::string path, std::size_t length) {
    open_.push_back({module, std::move(path), length});
    api_.inc_ref(module);
  }
  bool step(ModuleTree& tree) {
    if (open_.empty()) return false;
    const Node node = std::move(open_.back());
    open_.pop_back();
    if (tree.modules.insert(node.module).second) {
      tree.shape = mix(tree.shape, reinterpret_cast<std::uint64_t>(node.module),
                       reinterpret_cast<std::uint64_t>(type_of(node.module)));
      going_on_ = !visit_ || visit_(node.module, node.path);
      if (going_on_) push_children(node, tree);
    }
    api_.dec_ref(node.module);
    return going_on_;
  }

 private:
  void push_children(const Node& node, ModuleTree& tree) {
    PyObject* dict = api_.generic_dict(node.module, nullptr);
    if (dict == nullptr) return api_.clear_error();
    const std::size_t before = open_.size();
    PyObject* children = api_.dict_item(dict, "_modules");
    PyObject *key = nullptr, *value = nullptr;
    std::ptrdiff_t at = 0;
    while (children != nullptr && is_dict(children) && api_.dict_next(children, &at, &key, &value) != 0) {
      if (value == api_.none) continue;
      const std::string name = text_of(gil_, api_, key);
      tree.shape = mix(tree.shape, reinterpret_cast<std::uint64_t>(value), std::hash<std::string>()(name));
      const std::size_t length = node.length + 1 + name.size();
      if (length > kLongestPath) continue;
      std::string path;
      if (visit_) path.append(node.path).append(node.path.empty() ? "" : ".").append(name);
      push(value, std::move(path), length);
    }
    std::reverse(open_.begin() + static_cast<std::ptrdiff_t>(before), open_.end());
    api_.dec_ref(dict);
  }

  const HeldGil& gil_;
  const PythonApi& api_;
  const VisitModule& visit_;
  memory::OwnVector<Node> open_;
  bool going_on_ = true;
};

}  // namespace

ModuleTree walk_modules(const HeldGil& gil, const PythonApi& api, PyObject* root, const VisitModule& visit) {
  ModuleTree tree;
  ModuleWalk walk(gil, api, visit);
  walk.push(root, "", 0);
  while (walk.step(tree)) {
  }
  return tree;
}

}  // namespace castscope::agent
