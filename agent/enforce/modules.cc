#include "agent/enforce/modules.h"

#include <algorithm>

#include "agent/observe/definitions.h"
#include "agent/observe/module_tree.h"

namespace castscope::enforce {
namespace {

using observe::PyObject;
using observe::PythonStack;

// One row of a thread's memory of what it asked last.
struct Row {
  const void* module = nullptr;
  const PyObject* weakref = nullptr;
  std::uint32_t generation = 0;
  int rule = -1;
};
constexpr std::size_t kRows = 64;
thread_local Row t_rows[kRows];

Row& row_of(const void* module) {
  return t_rows[(reinterpret_cast<std::uintptr_t>(module) * 0x9e3779b97f4a7c15u) >> 58];
}

// "torch.nn.modules.linear.Linear" is what a class calls itself, torch.nn.Linear what everybody calls it.
std::string usual_name(const std::string& module, const std::string& name) {
  constexpr std::string_view kInner = "torch.nn.modules.";
  return std::string_view(module).starts_with(kInner) ? "torch.nn." + name : "";
}

}  // namespace

ModuleRules::ModuleRules(const observe::PythonApi& api, const PolicyTable& policy) : api_(api) {
  for (const ModuleRule& rule : policy.modules) {
    std::string error;
    std::optional<Pattern> pattern = Pattern::parse(rule.pattern, &error);
    if (pattern) patterns_.push_back(*std::move(pattern));  // castscope has parsed it the same way
  }
}

int ModuleRules::running(const observe::PyThread* lasting) {
  if (!met_.load(std::memory_order_acquire)) meet_module_calls();
  const void* self = PythonStack::innermost_module(api_, lasting);
  if (self == nullptr) return -1;
  Row& row = row_of(self);
  const std::uint32_t generation = generation_.load(std::memory_order_relaxed);
  if (row.module == self && row.generation == generation && observe::weakref_target(row.weakref) == self) [[likely]]
    return row.rule;
  int rule = find(self, lasting);
  std::lock_guard lock(mutex_);
  if (const auto found = known_.find(self); found != known_.end() && found->second.weakref != nullptr)
    row = {self, found->second.weakref, generation, rule};
  return rule;
}

bool ModuleRules::known(const void* self, int& rule) {
  std::lock_guard lock(mutex_);
  const auto found = known_.find(self);
  if (found == known_.end() || found->second.weakref == nullptr ||
      observe::weakref_target(found->second.weakref) != self)
    return false;
  rule = found->second.rule;
  return true;
}

int ModuleRules::find(const void* self, const observe::PyThread* lasting) {
  int rule = -1;
  if (known(self, rule)) return rule;
  observe::Gil gil(api_);
  if (!gil.held()) return -1;
  observe::KeepError keep(api_);
  thread_local observe::RawStack raw;  // too large for a stack of unknown size
  raw = {};
  PythonStack::capture(api_, lasting, raw);
  const void* root = raw.root_module_frame == nullptr ? self : PythonStack::self_of(api_, raw.root_module_frame);
  name_tree(static_cast<PyObject*>(const_cast<void*>(root)));
  if (known(self, rule)) return rule;
  name_tree(static_cast<PyObject*>(const_cast<void*>(self)));  // held some other way: it is its own root
  known(self, rule);
  return rule;
}

// The last rule that matches; -1 = none.
int ModuleRules::own_rule(PyObject* module, const std::string& path) {
  auto* type = observe::type_of(module);
  const std::string package = observe::text_attribute(api_, type, "__module__");
  const std::string name = observe::text_attribute(api_, type, "__qualname__");
  const std::string whole = package + "." + name, usual = usual_name(package, name);
  for (std::size_t i = patterns_.size(); i-- > 0;) {
    const Pattern& pattern = patterns_[i];
    if (pattern.matches_all(path) || pattern.matches_all(whole) || (!usual.empty() && pattern.matches_all(usual)))
      return static_cast<int>(i);
  }
  return -1;
}

// A module without a rule has that of the one above it. GIL held.
void ModuleRules::name_tree(PyObject* root) {
  std::unordered_map<std::string, int> by_path;
  observe::walk_modules(api_, root, [&](PyObject* module, const std::string& path) {
    int rule = own_rule(module, path);
    if (rule < 0 && !path.empty()) {
      const std::size_t dot = path.rfind('.');
      rule = by_path[dot == std::string::npos ? "" : path.substr(0, dot)];
    }
    by_path[path] = rule;
    PyObject* weakref = api_.new_weakref(module, nullptr);
    if (weakref == nullptr) api_.clear_error();
    std::lock_guard lock(mutex_);
    known_[module] = {weakref, rule};  // the reference is kept: threads' rows have it
    return true;
  });
}

// From Module._wrapped_call_impl: until its code is known no frame is a module's.
void ModuleRules::meet_module_calls() {
  observe::Gil gil(api_);
  if (!gil.held()) return;
  observe::KeepError keep(api_);
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
