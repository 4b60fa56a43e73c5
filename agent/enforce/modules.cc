#include "agent/enforce/modules.h"

#include <algorithm>
#include <new>

#include "agent/cpython/module_tree.h"
#include "agent/enforce/met_rules.h"
#include "agent/naming/definitions.h"

namespace castscope::enforce {
namespace {

using agent::HeldGil;
using agent::MayWait;
using agent::PyObject;
using agent::PythonStack;

// A class calls itself "torch.nn.modules.linear.Linear"; its usual name is torch.nn.Linear.
std::string usual_name(const std::string& module, const std::string& name) {
  constexpr std::string_view kInner = "torch.nn.modules.";
  return std::string_view(module).starts_with(kInner) ? "torch.nn." + name : "";
}

}  // namespace

ModuleRules::ModuleRules(const agent::PythonApi& api, const PolicyTable& policy) : api_(api) {
  for (const ModuleRule& rule : policy.modules) {
    std::string error;
    std::optional<Pattern> pattern = Pattern::parse(rule.pattern, &error);
    if (!pattern) continue;
    patterns_.push_back(*std::move(pattern));
    texts_.push_back(rule.pattern);  // castscope has parsed it the same way
  }
}

// The module that a thread asked for last.
struct ModuleRules::Row {
  PythonStack::Modules modules;
  Known known;
  std::uint32_t generation = 0;
};

ModuleRules::Row& ModuleRules::row_of(const Running& modules) {
  constexpr std::size_t kRows = 64;
  thread_local Row rows[kRows];
  return rows[Hash{}(modules) % kRows];
}

std::size_t ModuleRules::Hash::operator()(const Running& modules) const noexcept {
  const auto bits = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p); };
  return agent::mix(0x9e3779b97f4a7c15u, bits(modules.innermost), bits(modules.outermost));
}

bool ModuleRules::Known::is_of(const Running& modules) const {
  return innermost != nullptr && outermost != nullptr && agent::weakref_target(innermost.get()) == modules.innermost &&
         agent::weakref_target(outermost.get()) == modules.outermost;
}

int ModuleRules::running(const agent::PyThread* lasting) {
  if (!met_.load(std::memory_order_acquire)) meet_module_calls(MayWait::before_original());
  const Running modules = PythonStack::running_modules(api_, lasting);
  if (modules.innermost == nullptr) return -1;
  Row& row = row_of(modules);
  const std::uint32_t generation = generation_.load(std::memory_order_relaxed);
  if (row.modules == modules && row.generation == generation && row.known.is_of(modules)) [[likely]]
    return row.known.rule;
  row = {modules, find(MayWait::before_original(), modules), generation};
  return row.known.rule;
}

bool ModuleRules::known(const Running& modules, Known& into) {
  std::lock_guard lock(mutex_);
  const auto found = known_.find(modules);
  if (found == known_.end() || !found->second.is_of(modules)) return false;
  into = found->second;
  return true;
}

ModuleRules::Known ModuleRules::find(const MayWait& may_wait, const Running& modules) {
  Known result;
  if (known(modules, result)) return result;
  agent::Gil gil(may_wait, api_);
  if (!gil.held()) return result;
  agent::KeepError keep(gil, api_);
  const auto object = [](const void* module) { return static_cast<PyObject*>(const_cast<void*>(module)); };
  name_tree(gil, object(modules.outermost), modules.outermost);
  forget_the_dead(gil);
  if (known(modules, result)) return result;
  name_tree(gil, object(modules.innermost), modules.outermost);  // held in some other way: its path begins with itself
  known(modules, result);
  return result;
}

// Null when the class cannot be referred to weakly.
ModuleRules::WeakRef ModuleRules::reference_to(const HeldGil&, const void* module) {
  PyObject* weakref = api_.new_weakref(static_cast<PyObject*>(const_cast<void*>(module)), nullptr);
  if (weakref == nullptr) {
    api_.clear_error();
    return nullptr;
  }
  const auto unheld = [this](const PyObject* ref) {
    try {
      std::lock_guard lock(unheld_lock_);
      unheld_.push_back(ref);
    } catch (const std::bad_alloc&) {  // it stays in the map
    }
  };
  return WeakRef(weakref, unheld, memory::Own<PyObject*>());
}

// A job that makes modules for ever must not make us grow for ever.
void ModuleRules::forget_the_dead(const HeldGil&) {
  {
    std::lock_guard lock(mutex_);
    if (known_.size() > known_at_most_) {
      std::erase_if(known_, [](const auto& one) { return !one.second.is_of(one.first); });
      known_at_most_ = std::max<std::size_t>(1024, 2 * known_.size());
    }
  }
  decltype(unheld_) unheld;
  {
    std::lock_guard lock(unheld_lock_);
    unheld.swap(unheld_);
  }
  for (const PyObject* weakref : unheld) api_.dec_ref(const_cast<PyObject*>(weakref));
}

// The last rule that matches; -1 = none.
int ModuleRules::own_rule(const HeldGil& gil, PyObject* module, const std::string& path) {
  auto* type = agent::type_of(module);
  const std::string package = agent::text_attribute(gil, api_, type, "__module__");
  const std::string name = agent::text_attribute(gil, api_, type, "__qualname__");
  const std::string whole = package + "." + name, usual = usual_name(package, name);
  int last = -1;
  for (std::size_t i = 0; i < patterns_.size(); ++i) {
    const Pattern& pattern = patterns_[i];
    if (!pattern.matches_all(path) && !pattern.matches_all(whole) && (usual.empty() || !pattern.matches_all(usual)))
      continue;
    rule_met("module", texts_[i]);
    last = static_cast<int>(i);
  }
  return last;
}

// A module without a rule has the rule of the module above it.
void ModuleRules::name_tree(const HeldGil& gil, PyObject* tree, const void* outermost) {
  const WeakRef root = reference_to(gil, outermost);
  std::unordered_map<std::string, int> by_path;
  agent::walk_modules(gil, api_, tree, [&](PyObject* module, const std::string& path) {
    int rule = own_rule(gil, module, path);
    if (rule < 0 && !path.empty()) {
      const std::size_t dot = path.rfind('.');
      rule = by_path[dot == std::string::npos ? "" : path.substr(0, dot)];
    }
    by_path[path] = rule;
    const Known known{reference_to(gil, module), root, rule};
    std::lock_guard lock(mutex_);
    known_[{module, outermost}] = known;
    return true;
  });
}

// Learns the code of Module._wrapped_call_impl: until it is known, no frame counts as a module's.
void ModuleRules::meet_module_calls(const MayWait& may_wait) {
  agent::Gil gil(may_wait, api_);
  if (!gil.held()) return;
  agent::KeepError keep(gil, api_);
  PyObject* file = api_.dict_item(api_.import_modules(), "torch.nn.modules.module");
  PyObject* at = file;
  for (const char* const name : {"Module", "_wrapped_call_impl", "__code__"}) {
    if (at == nullptr) return;
    PyObject* next = api_.get_attribute(at, name);
    if (next == nullptr) api_.clear_error();
    if (at != file) api_.dec_ref(at);
    at = next;
  }
  if (at == nullptr) return;
  const void* unknown = nullptr;  // the reference is kept for good
  PythonStack::module_call_code.compare_exchange_strong(unknown, at);
  met_.store(true, std::memory_order_release);
}

void ModuleRules::look_again() {
  std::lock_guard lock(mutex_);
  known_.clear();
  generation_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace castscope::enforce
