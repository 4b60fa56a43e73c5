#include "agent/naming/module_names.h"

#include <algorithm>
#include <chrono>

#include "agent/memory/own_memory.h"

namespace castscope::agent {
namespace {

// Subclasses of a parametrized or quantized module have dotted C names; the last part is the class. A scripted or
// traced module has the class that it was made of.
std::string class_of(const HeldGil& gil, const PythonApi& api, PyObject* o) {
  if (is_script_module(type_of(o)))
    if (std::string original = text_attribute(gil, api, o, "original_name"); !original.empty()) return original;
  std::string name = type_name(type_of(o));
  const auto dot = name.rfind('.');
  return dot == std::string::npos ? name : name.substr(dot + 1);
}

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

bool is_script_module(const PyObject* type) {
  for (; type != nullptr; type = type_base(type))
    if (std::string_view(type_name(type)) == "ScriptModule") return true;
  return false;
}

const ModuleNames::Known* ModuleNames::alive_locked(const void* module) const {
  const auto found = known_.find(module);
  return found == known_.end() || !same(found->second.weakref, module) ? nullptr : &found->second;
}

// Whether `module` is still the outermost module that had this serial number.
bool ModuleNames::is_root_locked(const void* module, std::uint32_t serial) const {
  const Known* known = alive_locked(module);
  return known != nullptr && known->root == module && known->root_serial == serial;
}

// Returns nothing when the module has no name, or one that cannot be right: it has another class by now, or is called
// within a module that was never seen. (`self` and `root` are alive in the caller's frames, so their class may be
// read.)
ModuleNames::Module ModuleNames::look(const void* self, const void* root) {
  std::lock_guard lock(mutex_);
  const Known* known = alive_locked(self);
  if (known == nullptr) return {};
  const bool stale = known->type != type_of(object_at(self)) || alive_locked(root) == nullptr;
  if (stale && renamed_.size() < kMostRenames) return {};
  if (known->weakref != nullptr) ++holders_[known->weakref];
  return *known;
}

// The outermost module in whose tree `root` is known, else `root` itself. A new reference.
PyObject* ModuleNames::named_under(const HeldGil&, const void* root) {
  std::lock_guard lock(mutex_);
  const Known* known = alive_locked(root);
  const void* top = known != nullptr && is_root_locked(known->root, known->root_serial) ? known->root : root;
  api_.inc_ref(object_at(top));
  return object_at(top);
}

ModuleNames::Module ModuleNames::find(const MayWait& may_wait, const RawStack& raw) {
  if (raw.module_frame == nullptr) return {};
  const void* self = PythonStack::self_of(api_, raw.module_frame);
  const void* root = PythonStack::self_of(api_, raw.root_module_frame);
  if (const Module known = look(self, root); known.id != 0) return known;

  Gil gil(may_wait, api_);
  if (!gil.held()) return {};
  KeepError keep(gil, api_);
  forget_the_dead(gil);
  PyObject* top = named_under(gil, root);
  name_tree(gil, top);
  const bool was_root = top == root;
  api_.dec_ref(top);
  if (const Module known = look(self, root); known.id != 0) return known;
  const auto unknown = [&] {
    std::lock_guard lock(mutex_);
    return alive_locked(root) == nullptr;
  };
  if (!was_root && unknown()) name_tree(gil, object_at(root));  // it left that tree
  if (const Module known = look(self, root); known.id != 0) return known;
  // It is not in the tree of the outermost module, but held in some other way (a plain list, a closure). It is its own
  // root.
  name_tree(gil, object_at(self));
  return look(self, root);
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

// Drops what a loop over new modules leaves behind.
void ModuleNames::forget_the_dead(const HeldGil&) {
  memory::OwnVector<PyObject*> unheld;
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

ModuleNames::Root ModuleNames::root_of(const HeldGil& gil, PyObject* module) {
  Root root{module, class_of(gil, api_, module), 1, 0};
  root.number = number_of(gil, module, root.type);
  std::lock_guard lock(mutex_);
  const Known* known = alive_locked(module);
  root.serial = known != nullptr && known->root == module ? known->root_serial : ++root_serials_;
  return root;
}

// The number that the module already has as an outermost one, or the lowest that no living one of its class has.
std::uint32_t ModuleNames::number_of(const HeldGil&, PyObject* module, const std::string& type) {
  PyObject* weakref = api_.new_weakref(module, nullptr);
  if (weakref == nullptr) {
    api_.clear_error();
    return 1;
  }
  std::lock_guard lock(mutex_);
  memory::OwnVector<PyObject*>& numbers = roots_.try_emplace(memory::OwnString(type)).first->second;
  std::size_t free = numbers.size();
  for (std::size_t i = numbers.size(); i-- > 0;) {
    const void* target = weakref_target(numbers[i]);
    if (target == module) {
      unheld_.push_back(weakref);
      return static_cast<std::uint32_t>(i + 1);
    }
    if (target == api_.none) free = i;
  }
  if (free < numbers.size()) {
    unheld_.push_back(std::exchange(numbers[free], weakref));
  } else if (free < kMostRootNumbers) {
    numbers.push_back(weakref);
  } else {
    unheld_.push_back(weakref);
    return kMostRootNumbers;
  }
  return static_cast<std::uint32_t>(free + 1);
}

void ModuleNames::renamed_locked(const void* module) {
  renamed_.push_back(module);
  renames_.store(static_cast<std::uint32_t>(renamed_.size()), std::memory_order_release);
}

void ModuleNames::add(const HeldGil& gil, const Root& root, PyObject* module, const std::string& path) {
  {
    std::lock_guard lock(mutex_);
    const Known* known = alive_locked(module);
    if (known != nullptr && renamed_.size() >= kMostRenames) return;
    // The module is in the tree of another outermost one, too: a shared module keeps its first name.
    if (known != nullptr && known->root != root.module && known->root != module &&
        is_root_locked(known->root, known->root_serial))
      return;
  }
  PyObject* weakref = api_.new_weakref(module, nullptr);
  if (weakref == nullptr) api_.clear_error();
  const std::uint32_t id = definitions_.module(path, class_of(gil, api_, module), root.type, root.number);
  std::lock_guard lock(mutex_);
  if (const Known* before = alive_locked(module); before != nullptr && before->id != id) renamed_locked(module);
  Known& known = known_[module];
  if (known.weakref != nullptr) drop_locked(known.weakref);
  if (module == root.module && known.root != module) tops_.push_back(module);
  const bool same_root = known.root_serial == root.serial;
  known = {{id, weakref}, type_of(module), root.module, root.serial, same_root ? known.shape : 0};
  // Python gives out one weak reference for a module: another thread may just have made this one.
  if (weakref != nullptr && ++holders_[weakref] > 1) unheld_.push_back(weakref);
}

void ModuleNames::name_tree(const HeldGil& gil, PyObject* module) {
  const Root root = root_of(gil, module);
  end_tree(root, walk_modules(gil, api_, module, [&](PyObject* m, const std::string& path) {
             add(gil, root, m, path);
             return true;
           }));
}

// A module that was in the tree and is no longer has no name until it is called again.
void ModuleNames::end_tree(const Root& root, const ModuleTree& tree) {
  std::lock_guard lock(mutex_);
  const auto known = known_.find(root.module);
  if (known == known_.end() || known->second.root_serial != root.serial) return;
  const bool again = std::exchange(known->second.shape, tree.shape) != 0;
  if (!again || renamed_.size() >= kMostRenames) return;
  for (auto at = known_.begin(); at != known_.end();) {
    const Known& other = at->second;
    if (other.root != root.module || other.root_serial != root.serial || tree.modules.contains(at->first)) {
      ++at;
      continue;
    }
    renamed_locked(at->first);
    drop_locked(other.weakref);
    at = known_.erase(at);
  }
}

// Outermost modules with the shape of their trees as they were named, each a new reference.
std::vector<std::pair<PyObject*, std::uint64_t>> ModuleNames::living_roots(const HeldGil&) {
  std::vector<std::pair<PyObject*, std::uint64_t>> living;
  std::lock_guard lock(mutex_);
  std::erase_if(tops_, [&](const void* module) {
    const Known* known = alive_locked(module);
    if (known == nullptr || known->root != module) return true;
    if (known->weakref == nullptr) return false;  // it cannot be told whether it lives
    api_.inc_ref(object_at(module));
    living.emplace_back(object_at(module), known->shape);
    return false;
  });
  return living;
}

void ModuleNames::look_again() {
  const std::int64_t begin = now_ns();
  if (begin < next_look_ns_.load(std::memory_order_relaxed) || renames() >= kMostRenames) return;
  const HeldGil* gil = HeldGil::asked(api_);
  if (gil == nullptr) return;
  KeepError keep(*gil, api_);
  for (const auto& [module, shape] : living_roots(*gil)) {
    if (walk_modules(*gil, api_, module).shape != shape) name_tree(*gil, module);
    api_.dec_ref(module);
  }
  const std::int64_t end = now_ns();
  if (looked_ns_.fetch_add(end - begin, std::memory_order_relaxed) < kFirstLooksNs) return;
  next_look_ns_.store(end + kLooksAreAThousandth * (end - begin), std::memory_order_relaxed);
}

memory::OwnSet<const void*> ModuleNames::renamed_since(std::uint32_t since) {
  std::lock_guard lock(mutex_);
  if (since > renamed_.size()) since = 0;
  return {renamed_.begin() + since, renamed_.end()};
}

}  // namespace castscope::agent
