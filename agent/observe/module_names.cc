#include "agent/observe/module_names.h"

#include <algorithm>

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

ModuleNames::Module ModuleNames::look(const void* self) {
  std::lock_guard lock(mutex_);
  auto found = known_.find(self);
  if (found == known_.end() || !same(found->second.weakref, self)) return {};
  if (found->second.weakref != nullptr) ++holders_[found->second.weakref];
  return found->second;
}

ModuleNames::Module ModuleNames::find(const RawStack& raw) {
  if (raw.module_frame == nullptr) return {};
  const void* self = PythonStack::self_of(api_, raw.module_frame);
  const void* root = PythonStack::self_of(api_, raw.root_module_frame);
  if (const Module known = look(self); known.id != 0) return known;

  Gil gil(api_);
  if (!gil.held()) return {};
  KeepError keep(api_);
  forget_the_dead();
  name_tree(root_of(object(root)), object(root), "", 0);
  if (const Module known = look(self); known.id != 0) return known;
  // Not in the tree of the outermost module: held some other way (a plain list, a closure). It is its own root.
  name_tree(root_of(object(self)), object(self), "", 0);
  return look(self);
}

void ModuleNames::give_back(const PyObject* weakref) {
  if (weakref == nullptr) return;
  std::lock_guard lock(mutex_);
  drop_locked(weakref);
}

void ModuleNames::drop_locked(const PyObject* weakref) {
  auto held = holders_.find(weakref);
  if (held == holders_.end() || --held->second > 0) return;
  holders_.erase(held);
  unheld_.push_back(const_cast<PyObject*>(weakref));
}

// What a loop over new modules leaves behind. GIL held.
void ModuleNames::forget_the_dead() {
  std::vector<PyObject*> unheld;
  {
    std::lock_guard lock(mutex_);
    if (known_.size() > known_at_most_) {
      for (auto at = known_.begin(); at != known_.end();) {
        if (same(at->second.weakref, at->first)) {
          ++at;
          continue;
        }
        drop_locked(at->second.weakref);
        at = known_.erase(at);
      }
      known_at_most_ = std::max<std::size_t>(1024, 2 * known_.size());
    }
    unheld.swap(unheld_);
  }
  for (PyObject* weakref : unheld) api_.dec_ref(weakref);
}

// The module as an outermost one, with the number it has, or the lowest that no living one of its class has.
ModuleNames::Root ModuleNames::root_of(PyObject* module) {
  Root root{module, class_of(module), 1};
  PyObject* weakref = api_.new_weakref(module, nullptr);
  if (weakref == nullptr) {
    api_.clear_error();
    return root;
  }
  std::lock_guard lock(mutex_);
  std::vector<PyObject*>& numbers = roots_[root.type];
  std::size_t free = numbers.size();
  for (std::size_t i = numbers.size(); i-- > 0;) {
    const void* target = weakref_target(numbers[i]);
    if (target == module) {
      unheld_.push_back(weakref);
      root.number = static_cast<std::uint32_t>(i + 1);
      return root;
    }
    if (target == api_.none) free = i;
  }
  root.number = static_cast<std::uint32_t>(free + 1);
  if (free < numbers.size()) {
    unheld_.push_back(numbers[free]);
    numbers[free] = weakref;
  } else if (free < kMostRootNumbers) {
    numbers.push_back(weakref);
  } else {
    unheld_.push_back(weakref);
    root.number = kMostRootNumbers;
  }
  return root;
}

void ModuleNames::add(const Root& root, PyObject* module, const std::string& path) {
  {
    std::lock_guard lock(mutex_);
    auto found = known_.find(module);
    if (found != known_.end() && found->second.weakref != nullptr && same(found->second.weakref, module))
      return;  // a shared module keeps its first name
  }
  PyObject* weakref = api_.new_weakref(module, nullptr);
  if (weakref == nullptr) api_.clear_error();
  const std::uint32_t id = definitions_.module(path, class_of(module), root.type, root.number);
  std::lock_guard lock(mutex_);
  Module& known = known_[module];
  if (known.weakref != nullptr) drop_locked(known.weakref);
  known = {id, weakref};
  // Python gives out one weak reference for a module: what another thread has just made of it is this one.
  if (weakref != nullptr && ++holders_[weakref] > 1) unheld_.push_back(weakref);
}

void ModuleNames::name_tree(const Root& root, PyObject* module, const std::string& path, int depth) {
  if (depth > 100) return;  // a cycle of modules
  add(root, module, path);
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
    name_tree(root, value, path.empty() ? child : path + "." + child, depth + 1);
  }
  api_.dec_ref(dict);
}

}  // namespace castscope::observe
