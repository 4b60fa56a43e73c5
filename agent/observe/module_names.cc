#include "agent/observe/module_names.h"

#include <optional>

namespace castscope::observe {
namespace {

PyObject* object(const void* p) { return static_cast<PyObject*>(const_cast<void*>(p)); }

bool is_dict(const PythonApi& api, const PyObject* o) {  // or an OrderedDict, as older versions have
  for (const PyObject* type = type_of(o); type != nullptr; type = type_base(type))
    if (type == api.dict_type) return true;
  return false;
}

// Subclasses of a parametrized or quantized module have dotted C names; the last part is the class.
std::string class_of(const PyObject* o) {
  std::string name = type_name(type_of(o));
  const auto dot = name.rfind('.');
  return dot == std::string::npos ? name : name.substr(dot + 1);
}

}  // namespace

ModuleNames::Module ModuleNames::find(const RawStack& raw) {
  if (raw.module_frame == nullptr) return {};
  const void* self = PythonStack::self_of(api_, raw.module_frame);
  const void* root = PythonStack::self_of(api_, raw.root_module_frame);
  auto look = [&]() -> std::optional<Module> {
    std::lock_guard lock(mutex_);
    auto found = known_.find(self);
    if (found == known_.end() || !same(found->second.module.weakref, self)) return std::nullopt;
    return found->second.module;
  };
  if (auto known = look()) return *known;

  Gil gil(api_);
  if (!gil.held()) return {};
  KeepError keep(api_);
  name_tree(object(root), object(root), "", class_of(object(root)), 0);
  if (auto known = look()) return *known;
  // Not in the tree of the outermost module: held some other way (a plain list, a closure). It is its own root.
  name_tree(object(self), object(self), "", class_of(object(self)), 0);
  return look().value_or(Module{});
}

void ModuleNames::add(PyObject* module, const std::string& path, const std::string& root_type) {
  {
    std::lock_guard lock(mutex_);
    auto found = known_.find(module);
    if (found != known_.end() && same(found->second.module.weakref, module) && found->second.module.weakref != nullptr)
      return;  // a shared module keeps its first name
  }
  PyObject* weakref = api_.new_weakref(module, nullptr);
  if (weakref == nullptr) api_.clear_error();
  const std::uint32_t id = definitions_.module(path, class_of(module), root_type);
  std::lock_guard lock(mutex_);
  known_[module] = {{id, weakref}, path};
}

void ModuleNames::name_tree(PyObject* root, PyObject* module, const std::string& path, const std::string& root_type,
                            int depth) {
  if (depth > 100) return;  // a cycle of modules
  add(module, path, root_type);
  PyObject* dict = api_.generic_dict(module, nullptr);
  if (dict == nullptr) {
    api_.clear_error();
    return;
  }
  PyObject* children = api_.dict_item(dict, "_modules");
  PyObject *key = nullptr, *value = nullptr;
  std::ptrdiff_t at = 0;
  while (children != nullptr && is_dict(api_, children) && api_.dict_next(children, &at, &key, &value) != 0) {
    if (value == api_.none || value == module) continue;
    std::ptrdiff_t size = 0;
    const char* name = api_.utf8(key, &size);
    if (name == nullptr) {
      api_.clear_error();
      continue;
    }
    std::string child(name, static_cast<std::size_t>(size));
    name_tree(root, value, path.empty() ? child : path + "." + child, root_type, depth + 1);
  }
  api_.dec_ref(dict);
}

}  // namespace castscope::observe
