#include "agent/cpython/python_api.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstring>

namespace castscope::agent {
namespace {

template <typename F>
bool resolve(F& to, const char* name) {
  to = reinterpret_cast<F>(dlsym(RTLD_DEFAULT, name));
  return to != nullptr;
}

char g_version[32];

PyObject* (*g_get_attribute)(PyObject*, const char*);
long (*g_as_long)(PyObject*);

// Before 3.11 no function of the C API tells it. In bytes, as PyFrame_GetLasti gives it. Needs the GIL.
int lasti_attribute(PyObject* frame) {
  PyObject* value = g_get_attribute(frame, "f_lasti");
  const long lasti = value == nullptr ? -1 : g_as_long(value);
  static auto release = reinterpret_cast<void (*)(PyObject*)>(dlsym(RTLD_DEFAULT, "Py_DecRef"));
  if (value != nullptr) release(value);
  return static_cast<int>(lasti);
}

PyThread* (*g_own_thread)();      // the calling thread's state, with the GIL or without
PyThread* (*g_current_thread)();  // the thread that has the GIL: the calling one (from 3.12 on) or any

int (*g_is_initialized)();

int has_gil() {
  if (g_is_initialized() == 0) return 0;
  const PyThread* own = g_own_thread();
  return own != nullptr && own == g_current_thread() ? 1 : 0;
}

}  // namespace

bool layout_of(int minor, FrameLayout& f) {
  switch (minor) {
    case 9:
    case 10:
      f = {.thread_frame = 24,
           .through_cframe = false,
           .cframe_frame = 0,
           .code = 32,
           .previous = 24,
           .instruction = minor == 9 ? 104u : 96u,
           .owner = 0,
           .first_foreign_owner = FrameLayout::kNoOwners,
           .locals = minor == 9 ? 360u : 352u,
           .tagged = false,
           .lasti_bytes = minor == 9 ? std::uint8_t{1} : std::uint8_t{2}};
      return true;
    case 11:
      f = {.thread_frame = 56,
           .through_cframe = true,
           .cframe_frame = 8,
           .code = 32,
           .previous = 48,
           .instruction = 56,
           .owner = 69,
           .first_foreign_owner = 3,
           .locals = 72,
           .tagged = false,
           .lasti_bytes = 0};
      return true;
    case 12:
      f = {.thread_frame = 56,
           .through_cframe = true,
           .cframe_frame = 0,
           .code = 0,
           .previous = 8,
           .instruction = 56,
           .owner = 70,
           .first_foreign_owner = 3,
           .locals = 72,
           .tagged = false,
           .lasti_bytes = 0};
      return true;
    case 13:
      f = {.thread_frame = 72,
           .through_cframe = false,
           .cframe_frame = 0,
           .code = 0,
           .previous = 8,
           .instruction = 56,
           .owner = 70,
           .first_foreign_owner = 3,
           .locals = 72,
           .tagged = false,
           .lasti_bytes = 0};
      return true;
    case 14:
      f = {.thread_frame = 72,
           .through_cframe = false,
           .cframe_frame = 0,
           .code = 0,
           .previous = 8,
           .instruction = 56,
           .owner = 74,
           .first_foreign_owner = 3,
           .locals = 80,
           .tagged = true,
           .lasti_bytes = 0};
      return true;
    default:
      return false;
  }
}

const char* python_version() { return g_version; }

bool load_python_api(PythonApi& a) {
  const char* (*get_version)() = nullptr;
  if (!resolve(get_version, "Py_GetVersion")) return false;
  const char* version = get_version();
  std::snprintf(g_version, sizeof g_version, "%.*s", static_cast<int>(std::strcspn(version, " +")), version);
  if (std::sscanf(version, "%d.%d", &a.major, &a.minor) != 2) return false;
  a.free_threaded = std::strstr(version, "free-threading") != nullptr;

  bool ok = resolve(g_is_initialized, "Py_IsInitialized");
  a.is_initialized = g_is_initialized;
  ok &= resolve(a.this_thread, "PyGILState_GetThisThreadState");
  ok &= resolve(g_current_thread, "PyThreadState_GetUnchecked") ||  // from 3.13 on
        resolve(g_current_thread, "_PyThreadState_UncheckedGet");
  g_own_thread = a.this_thread;
  if (ok) a.gil_check = has_gil;
  ok &= resolve(a.gil_ensure, "PyGILState_Ensure");
  ok &= resolve(a.gil_release, "PyGILState_Release");
  ok &= resolve(a.inc_ref, "Py_IncRef");
  ok &= resolve(a.dec_ref, "Py_DecRef");
  ok &= resolve(a.current_frame, "PyEval_GetFrame");
  ok &= resolve(a.frame_code, "PyFrame_GetCode");
  ok &= resolve(a.frame_back, "PyFrame_GetBack");
  ok &= resolve(a.code_line, "PyCode_Addr2Line");
  ok &= resolve(a.get_attribute, "PyObject_GetAttrString");
  ok &= resolve(a.utf8, "PyUnicode_AsUTF8AndSize");
  ok &= resolve(a.encoded, "PyUnicode_AsEncodedString");
  ok &= resolve(a.bytes, "PyBytes_AsStringAndSize");
  ok &= resolve(a.clear_error, "PyErr_Clear");
  ok &= resolve(a.error_occurred, "PyErr_Occurred");
  ok &= resolve(a.generic_dict, "PyObject_GenericGetDict");
  ok &= resolve(a.dict_item, "PyDict_GetItemString");
  ok &= resolve(a.dict_next, "PyDict_Next");
  ok &= resolve(a.new_weakref, "PyWeakref_NewRef");
  ok &= resolve(a.import_modules, "PyImport_GetModuleDict");
  ok &= resolve(a.call_method, "PyObject_CallMethod");
  ok &= resolve(a.list_item, "PyList_GetItem");
  ok &= resolve(a.list_size, "PyList_Size");
  ok &= resolve(a.tuple_item, "PyTuple_GetItem");
  ok &= resolve(a.tuple_size, "PyTuple_Size");
  ok &= resolve(a.is_true, "PyObject_IsTrue");
  ok &= resolve(a.none, "_Py_NoneStruct");
  ok &= resolve(a.code_type, "PyCode_Type");
  ok &= resolve(a.tuple_type, "PyTuple_Type");
  ok &= resolve(a.list_type, "PyList_Type");
  if (!resolve(a.is_finalizing, "Py_IsFinalizing")) resolve(a.is_finalizing, "_Py_IsFinalizing");
  if (!resolve(a.frame_lasti, "PyFrame_GetLasti") && resolve(g_as_long, "PyLong_AsLong")) {
    g_get_attribute = a.get_attribute;
    a.frame_lasti = lasti_attribute;
  }
  if (!ok || a.frame_lasti == nullptr || a.major != 3 || a.free_threaded || !layout_of(a.minor, a.frame)) return false;
  if (a.frame.lasti_bytes == 0)
    a.code_bytes = static_cast<std::size_t>(read_at<std::ptrdiff_t>(a.code_type, 32));  // tp_basicsize
  return true;
}

const HeldGil* HeldGil::asked(const PythonApi& api) {
  static const HeldGil held;
  return api.gil_check != nullptr && api.gil_check() != 0 ? &held : nullptr;
}

std::string text_of(const HeldGil&, const PythonApi& api, PyObject* string) {
  std::ptrdiff_t size = 0;
  if (const char* text = api.utf8(string, &size)) return {text, static_cast<std::size_t>(size)};
  api.clear_error();
  // CPython itself knows both names, so that no codec written in Python is called.
  PyObject* escaped = api.encoded(string, "utf-8", "backslashreplace");
  char* bytes = nullptr;
  std::string text;
  if (escaped != nullptr && api.bytes(escaped, &bytes, &size) == 0) text.assign(bytes, static_cast<std::size_t>(size));
  if (escaped != nullptr) api.dec_ref(escaped);
  if (text.empty()) api.clear_error();
  return text;
}

const PyThread* lasting_thread(const PythonApi& api) {
  const PyThread* thread = api.this_thread();
  Dl_info info{};
  if (thread == nullptr || dladdr(thread, &info) == 0 || info.dli_sname == nullptr) return nullptr;
  return std::strcmp(info.dli_sname, "_PyRuntime") == 0 ? thread : nullptr;
}

// PyErr_Fetch/Restore are deprecated from 3.12 on, but every version that layout_of knows has them.
KeepError::KeepError(const HeldGil&, const PythonApi& api) : api_(api) {
  if (api.error_occurred == nullptr || api.error_occurred() == nullptr) return;
  static auto fetch =
      reinterpret_cast<void (*)(PyObject**, PyObject**, PyObject**)>(dlsym(RTLD_DEFAULT, "PyErr_Fetch"));
  if (fetch != nullptr) fetch(&type_, &value_, &trace_);
}
KeepError::~KeepError() {
  if (api_.error_occurred != nullptr && api_.error_occurred() != nullptr) api_.clear_error();
  if (type_ == nullptr) return;
  static auto restore =
      reinterpret_cast<void (*)(PyObject*, PyObject*, PyObject*)>(dlsym(RTLD_DEFAULT, "PyErr_Restore"));
  if (restore != nullptr) restore(type_, value_, trace_);
}

}  // namespace castscope::agent
