#include "agent/cpython/python_snippet.h"

#include <dlfcn.h>

#include <cstdarg>
#include <type_traits>

namespace castscope::agent {
namespace {

constexpr int kFileInput = 257;  // Py_file_input
// Dynamo neither compiles nor follows code from a file whose name begins with "<frozen importlib" (SKIP_DIRS in
// torch/_dynamo/trace_rules.py): our code may be called while Dynamo would do so.
constexpr const char* kFile = "<frozen importlib castscope>";

struct Api {
  PyObject* (*compile)(const char*, const char*, int);
  PyObject* (*evaluate)(PyObject*, PyObject*, PyObject*);
  PyObject* (*new_dict)();
  int (*set_item)(PyObject*, const char*, PyObject*);
  PyObject* (*builtins)();
  PyObject* (*new_function)(Method*, PyObject*, PyObject*);
  PyObject* (*build_values)(const char*, va_list);
  PyObject* (*call)(PyObject*, PyObject*);
  long (*as_long)(PyObject*);
  int (*matches)(PyObject*);
  PyObject** exception;
  void (*fetch)(PyObject**, PyObject**, PyObject**);
  void (*restore)(PyObject*, PyObject*, PyObject*);
  int (*add_pending)(int (*)(void*), void*);
};

const Api* api() {
  static const Api* const found = []() -> const Api* {
    auto* a = new Api;
    const auto resolve = [](auto& to, const char* name) {
      to = reinterpret_cast<std::remove_reference_t<decltype(to)>>(dlsym(RTLD_DEFAULT, name));
      return to != nullptr;
    };
    const bool whole = resolve(a->compile, "Py_CompileString") && resolve(a->evaluate, "PyEval_EvalCode") &&
                       resolve(a->new_dict, "PyDict_New") && resolve(a->set_item, "PyDict_SetItemString") &&
                       resolve(a->builtins, "PyEval_GetBuiltins") && resolve(a->new_function, "PyCFunction_NewEx") &&
                       resolve(a->build_values, "Py_VaBuildValue") && resolve(a->call, "PyObject_CallObject") &&
                       resolve(a->as_long, "PyLong_AsLong") && resolve(a->matches, "PyErr_ExceptionMatches") &&
                       resolve(a->exception, "PyExc_Exception") && resolve(a->fetch, "PyErr_Fetch") &&
                       resolve(a->restore, "PyErr_Restore") && resolve(a->add_pending, "Py_AddPendingCall");
    if (whole) return a;
    delete a;
    return nullptr;
  }();
  return found;
}

struct Raised {
  PyObject *type, *value, *trace;
};

int raise_again(void* raised) {
  const auto* r = static_cast<const Raised*>(raised);
  api()->restore(r->type, r->value, r->trace);
  delete r;
  return -1;
}

}  // namespace

std::vector<CodeLine> frames_of(const HeldGil& gil, const PythonApi& py, PyObject* list) {
  std::vector<CodeLine> frames;
  const std::ptrdiff_t n = py.list_size(list);
  for (std::ptrdiff_t i = 0; i + 2 < n; i += 3)
    frames.push_back({text_of(gil, py, py.list_item(list, i)), text_of(gil, py, py.list_item(list, i + 2)),
                      static_cast<std::uint32_t>(api()->as_long(py.list_item(list, i + 1)))});
  return frames;
}

long Snippet::number(const HeldGil&, const PythonApi& py, PyObject* tuple, std::ptrdiff_t i) {
  return api()->as_long(py.tuple_item(tuple, i));
}

bool Snippet::ready(const HeldGil& gil, const PythonApi& py) {
  if (function_object_ != nullptr || failed_) return !failed_;
  if (PyObject* names = run(gil, py))
    function_object_ = py.dict_item(names, function_);  // `names` live as long as we do
  py.clear_error();
  failed_ = function_object_ == nullptr;
  return !failed_;
}

PyObject* Snippet::run(const HeldGil&, const PythonApi& py) {
  PyObject* names = api() == nullptr ? nullptr : api()->new_dict();
  if (names == nullptr) return nullptr;
  PyObject* code = api()->compile(source_, kFile, kFileInput);
  if (code == nullptr) return nullptr;
  api()->set_item(names, "__builtins__", api()->builtins());
  if (given_ != nullptr) {
    PyObject* given = api()->new_function(given_, nullptr, nullptr);
    if (given == nullptr) return nullptr;
    api()->set_item(names, given_->name, given);
  }
  PyObject* done = api()->evaluate(code, names, names);
  if (done == nullptr) return nullptr;
  py.dec_ref(done);
  return names;
}

PyObject* Snippet::call_object(const HeldGil&, const PythonApi& py, PyObject* function, const char* format, ...) {
  va_list values;
  va_start(values, format);
  PyObject* arguments = api()->build_values(format, values);
  va_end(values);
  if (arguments == nullptr) return nullptr;
  PyObject* answer = api()->call(function, arguments);
  py.dec_ref(arguments);
  return answer;
}

// A signal's handler may run within any Python code, ours too, and raise KeyboardInterrupt or SystemExit there: the job
// gets that exception as soon as Python runs again in its main thread.
void Snippet::hand_on_interruption(const HeldGil&, const PythonApi& py) {
  if (py.error_occurred() == nullptr) return;
  if (api()->matches(*api()->exception) != 0) return py.clear_error();
  auto* raised = new Raised{nullptr, nullptr, nullptr};
  api()->fetch(&raised->type, &raised->value, &raised->trace);
  if (api()->add_pending(&raise_again, raised) != 0) raise_again(raised), py.clear_error();
}

}  // namespace castscope::agent
