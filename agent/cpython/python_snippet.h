// Python code of the agent's own, for questions that would take pages of C API. It is compiled once in a process, at
// its first use.
#pragma once

#include <cstddef>
#include <vector>

#include "agent/cpython/code_line.h"
#include "agent/cpython/python_api.h"

namespace castscope::agent {

// PyMethodDef.
struct Method {
  const char* name;
  PyObject* (*function)(PyObject* self, PyObject* arguments);
  int flags;
  const char* documentation;
};
inline constexpr int kVarArgs = 1;  // METH_VARARGS

class Snippet {
 public:
  // `function` is the name of the function that call() calls; `given`, under its own name, is a function that the code
  // may call.
  constexpr Snippet(const char* source, const char* function, Method* given = nullptr)
      : source_(source), function_(function), given_(given) {}

  // Returns a new reference; nullptr where Python gives none, or the code raised. No exception is left behind, but one
  // that a signal's handler raised in the code (KeyboardInterrupt) reaches the job. The caller makes the KeepError.
  // `format` makes a tuple, as Py_BuildValue's: "(Oi)".
  template <typename... Values>
  PyObject* call(const HeldGil& gil, const PythonApi& py, const char* format, Values... values) {
    if (!ready(gil, py)) return nullptr;
    PyObject* answer = call_object(gil, py, function_object_, format, values...);
    if (answer == nullptr) hand_on_interruption(gil, py);
    return answer;
  }
  static long number(const HeldGil& gil, const PythonApi& py, PyObject* tuple, std::ptrdiff_t i);

 private:
  bool ready(const HeldGil& gil, const PythonApi& py);
  PyObject* run(const HeldGil& gil, const PythonApi& py);  // the names that the code defines
  static PyObject* call_object(const HeldGil& gil, const PythonApi& py, PyObject* function, const char* format, ...);
  static void hand_on_interruption(const HeldGil& gil, const PythonApi& py);

  const char* const source_;
  const char* const function_;
  Method* const given_;
  PyObject* function_object_ = nullptr;
  bool failed_ = false;
};

// Reads a list in which file, line and function of each frame follow each other.
std::vector<CodeLine> frames_of(const HeldGil& gil, const PythonApi& py, PyObject* list);

}  // namespace castscope::agent
