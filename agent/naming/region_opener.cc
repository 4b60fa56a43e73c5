#include "agent/naming/region_opener.h"

#include <string>
#include <string_view>

namespace castscope::agent {
namespace {

// Constants of code.h.
constexpr int kGenerator = 0x20, kCoroutine = 0x80, kAsyncGenerator = 0x200;

bool is_autocasts(const Definitions::Place& place) { return place.file.ends_with("/amp/autocast_mode.py"); }
bool is_contextlibs(const Definitions::Place& place) {
  return place.file.ends_with("/contextlib.py") && place.file.find("-packages/") == std::string::npos;
}
// Whether this is next(), or its like, on a function decorated with contextmanager.
bool drives_generator(const Definitions::Place& place) {
  return is_contextlibs(place) && (place.function.starts_with("_GeneratorContextManager.") ||
                                   place.function.starts_with("_AsyncGeneratorContextManager."));
}
// Context managers of test frameworks and the like lend the region that they open to the code that asked for it.
bool is_librarys(const Definitions::Place& place) {
  return place.file.find("-packages/") != std::string::npos && place.file.find("-packages/torch/") == std::string::npos;
}

bool has_flag(const HeldGil&, const PythonApi& api, PyObject* code, int flags) {
  PyObject* value = api.get_attribute(code, "co_flags");
  PyObject* both = value == nullptr ? nullptr : api.call_method(value, "__and__", "i", flags);
  const bool has = both != nullptr && api.is_true(both) == 1;
  if (both == nullptr) api.clear_error();
  if (both != nullptr) api.dec_ref(both);
  if (value != nullptr) api.dec_ref(value);
  return has;
}

// Whether it is a class, or a function that makes a generator or a coroutine: calling it runs nothing of its purpose.
bool runs_later(const HeldGil& gil, const PythonApi& api, PyObject* callable) {
  if (is_class(callable)) return true;
  if (std::string_view(type_name(type_of(callable))) != "function") return false;
  PyObject* code = api.get_attribute(callable, "__code__");
  if (code == nullptr) {
    api.clear_error();
    return false;
  }
  const bool later = has_flag(gil, api, code, kGenerator | kCoroutine | kAsyncGenerator);
  api.dec_ref(code);
  return later;
}

// The position at which decorate_autocast(*args, **kwargs) keeps the variable `func` of the function around it:
// arguments stand first, then free variables, each in a cell. -1 when it has none.
int position_of_func(const HeldGil&, const PythonApi& api, PyObject* code) {
  PyObject* free = api.get_attribute(code, "co_freevars");
  PyObject* own = api.get_attribute(code, "co_varnames");
  int position = -1;
  if (free != nullptr && own != nullptr) {
    for (std::ptrdiff_t i = 0; i < api.tuple_size(free); ++i) {
      const char* name = api.utf8(api.tuple_item(free, i), nullptr);
      if (name != nullptr && std::string_view(name) == "func") position = static_cast<int>(api.tuple_size(own) + i);
    }
  } else {
    api.clear_error();
  }
  if (free != nullptr) api.dec_ref(free);
  if (own != nullptr) api.dec_ref(own);
  return position;
}

bool decorates_what_runs_later(const HeldGil& gil, const PythonApi& api, const RawFrame& raw, std::uint16_t number) {
  auto* code = static_cast<PyObject*>(const_cast<void*>(raw.code));
  const int position = position_of_func(gil, api, code);
  const void* frame = frame_at(api, nullptr, number);
  if (position < 0 || frame == nullptr) return false;
  const void* cell = PythonStack::self_of(api, frame, position);
  if (cell == nullptr || std::string_view(type_name(type_of(static_cast<const PyObject*>(cell)))) != "cell")
    return false;
  PyObject* callable = cell_contents(cell);
  return callable != nullptr && runs_later(gil, api, callable);
}

}  // namespace

RegionOpener opener_of(const HeldGil& gil, const PythonApi& api, Definitions& definitions, const RawStack& raw) {
  const auto place = [&](std::uint32_t i) {
    return i < raw.depth ? definitions.place(raw.frames[i].code) : Definitions::Place();
  };
  RegionOpener found;
  std::uint16_t at = 0;
  for (; at < raw.depth && is_autocasts(place(at)); ++at)
    if (place(at).function.ends_with("decorate_autocast"))  // before Python 3.11 the name stands alone
      found.runs_later = decorates_what_runs_later(gil, api, raw.frames[at], at);
  found.opener = at;
  while (at < raw.depth && (is_contextlibs(place(at)) || drives_generator(place(at + 1u)))) ++at;
  found.owner = at;
  if (at >= raw.depth) return found;
  auto* code = static_cast<PyObject*>(const_cast<void*>(raw.frames[at].code));
  const bool lends = has_flag(gil, api, code, kGenerator | kAsyncGenerator) && is_librarys(place(at + 1u));
  found.may_be_suspended = !lends && has_flag(gil, api, code, kGenerator | kCoroutine | kAsyncGenerator);
  return found;
}

const void* frame_at(const PythonApi& api, const PyThread* lasting, std::uint16_t number) {
  const FrameLayout& f = api.frame;
  for (const void* frame = PythonStack::top(api, lasting); frame != nullptr;
       frame = read_at<const void*>(frame, f.previous)) {
    if (read_at<std::uint8_t>(frame, f.owner) >= f.first_foreign_owner) continue;
    if (number-- == 0) return frame;
  }
  return nullptr;
}

bool is_running(const PythonApi& api, const PyThread* lasting, const void* wanted) {
  for (const void* frame = PythonStack::top(api, lasting); frame != nullptr;
       frame = read_at<const void*>(frame, api.frame.previous))
    if (frame == wanted) return true;
  return false;
}

}  // namespace castscope::agent
