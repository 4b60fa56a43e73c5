#include "agent/regions/asked_regions.h"

#include <cstring>
#include <exception>
#include <string>

#include "agent/cpython/qualified_name.h"
#include "agent/memory/own_memory.h"
#include "agent/regions/hooks.h"
#include "agent/session/process.h"
#include "agent/torch/originals.h"

namespace castscope::agent {
namespace {

struct Made {
  PyObject* weakref = nullptr;  // to the object: another object may get its address
  Asked asked;
};
// All of it is used under the GIL, which is its lock. Objects are as short-lived as a `with`, or belong to a decorator:
// few live at a time.
constexpr std::size_t kMostMade = 4096;
memory::OwnMap<const void*, Made>* g_made = new memory::OwnMap<const void*, Made>;
// The code object of autocast.__init__, once it was met; pinned.
std::atomic<const void*> g_init_code{nullptr};

// Positions of the arguments: (self, device_type, dtype, enabled, cache_enabled).
constexpr int kDtype = 2, kEnabled = 3;

bool has_arguments(const HeldGil&, const PythonApi& api, PyObject* code) {
  PyObject* names = api.get_attribute(code, "co_varnames");
  if (names == nullptr) {
    api.clear_error();
    return false;
  }
  const auto is = [&](int position, std::string_view name) {
    if (api.tuple_size(names) <= position) return false;
    const char* text = api.utf8(api.tuple_item(names, position), nullptr);
    return text != nullptr && name == text;
  };
  const bool good = is(0, "self") && is(kDtype, "dtype") && is(kEnabled, "enabled");
  api.dec_ref(names);
  return good;
}

bool is_autocasts_init(const HeldGil& gil, const PythonApi& api, const RawFrame& frame) {
  if (const void* known = g_init_code.load(std::memory_order_relaxed)) return frame.code == known;
  PyObject* object = object_at(frame.code);
  if (type_of(object) != api.code_type) return false;
  if (qualified_name(gil, api, frame) != "autocast.__init__") return false;
  if (!text_attribute(gil, api, object, "co_filename").ends_with("torch/amp/autocast_mode.py")) return false;
  if (!has_arguments(gil, api, object)) return false;
  api.inc_ref(object);
  g_init_code.store(frame.code, std::memory_order_relaxed);
  return true;
}

// True if `if enabled:` would be taken. A value that is neither a bool nor an int may run Python code to answer, and is
// left alone.
bool is_true(const HeldGil&, const PythonApi& api, const void* value) {
  if (value == nullptr) return false;
  auto* object = static_cast<PyObject*>(const_cast<void*>(value));
  const char* type = type_name(type_of(object));
  if (std::strcmp(type, "bool") != 0 && std::strcmp(type, "int") != 0) return false;
  return api.is_true(object) == 1;
}

void forget(const HeldGil&, const PythonApi& api, bool all) {
  for (auto at = g_made->begin(); at != g_made->end();) {
    if (!all && weakref_target(at->second.weakref) != api.none) {
      ++at;
      continue;
    }
    api.dec_ref(at->second.weakref);
    at = g_made->erase(at);
  }
}

void keep(const HeldGil& gil, const PythonApi& api, PyObject* object, const Asked& asked) {
  PyObject* weakref = api.new_weakref(object, nullptr);
  if (weakref == nullptr) return api.clear_error();
  if (g_made->size() >= kMostMade / 2) forget(gil, api, false);
  if (g_made->size() >= kMostMade) forget(gil, api, true);
  Made& made = (*g_made)[object];
  if (made.weakref != nullptr) api.dec_ref(made.weakref);
  made = {weakref, asked};
}

void autocast_made() noexcept try {
  if (g_process.silent()) return;
  meet_python();
  const PythonApi& api = g_process.python;
  const HeldGil* gil = g_process.has_python ? HeldGil::asked(api) : nullptr;
  if (gil == nullptr) return;
  const RawFrame running = PythonStack::running(api);
  const void* frame = running.frame;
  if (frame == nullptr) return;
  KeepError error(*gil, api);
  if (!is_autocasts_init(*gil, api, running)) return;
  auto* self = static_cast<PyObject*>(const_cast<void*>(PythonStack::self_of(api, frame)));
  if (self == nullptr) return;
  const bool enabled = is_true(*gil, api, PythonStack::self_of(api, frame, kEnabled));
  const bool default_dtype = PythonStack::self_of(api, frame, kDtype) == api.none;
  keep(*gil, api, self, {.known = true, .enabled = enabled, .default_dtype = default_dtype});
} catch (const std::exception&) {  // out of memory: nothing is known of this object
}

std::string privateuse1_backend(bool lower) {
  std::string name = original<std::string (*)(bool)>(kPrivateUse1Backend)(lower);
  autocast_made();
  return name;
}

}  // namespace

Asked asked_of(const HeldGil&, const void* enter_frame) {
  if (enter_frame == nullptr) return {};
  const void* self = PythonStack::self_of(g_process.python, enter_frame);
  const auto found = g_made->find(self);
  if (found == g_made->end() || weakref_target(found->second.weakref) != self) return {};
  return found->second.asked;
}

void* privateuse1_hook() { return reinterpret_cast<void*>(&privateuse1_backend); }

}  // namespace castscope::agent
