#include "agent/cpython/qualified_name.h"

#include <string_view>

namespace castscope::agent {
namespace {

// Of CPython 3.9 and 3.10: PyTypeObject::tp_dict and tp_mro, PyCodeObject::co_argcount.
constexpr std::size_t kTypeDict = 264, kTypeMro = 344, kCodeArguments = 16;
constexpr int kMostDecorators = 8;

std::string text_of_attribute(const HeldGil& gil, const PythonApi& api, PyObject* object, const char* name) {
  PyObject* value = api.get_attribute(object, name);
  if (value == nullptr) return api.clear_error(), "";
  std::string text = text_of(gil, api, value);
  api.dec_ref(value);
  return text;
}

// Borrowed; nullptr where it was deleted. An argument that functions within use too lies in a cell, behind the locals.
PyObject* first_argument(const HeldGil&, const PythonApi& api, PyObject* code, const void* frame) {
  if (read_at<int>(code, kCodeArguments) == 0) return nullptr;
  if (const void* first = PythonStack::self_of(api, frame)) return object_at(first);
  PyObject* locals = api.get_attribute(code, "co_varnames");
  PyObject* cells = api.get_attribute(code, "co_cellvars");
  PyObject* found = nullptr;
  if (locals != nullptr && cells != nullptr) {
    for (std::ptrdiff_t i = 0; i < api.tuple_size(cells) && found == nullptr; ++i) {
      if (api.tuple_item(cells, i) != api.tuple_item(locals, 0)) continue;  // names are interned
      const void* cell = PythonStack::self_of(api, frame, static_cast<int>(api.tuple_size(locals) + i));
      if (cell != nullptr) found = cell_contents(cell);
    }
  }
  if (locals != nullptr) api.dec_ref(locals);
  if (cells != nullptr) api.dec_ref(cells);
  api.clear_error();
  return found;
}

// What a decorator of Python's own, or one that sets __wrapped__, stands around. A new reference, or nullptr.
PyObject* within(const HeldGil&, const PythonApi& api, PyObject* decorated) {
  const std::string_view type = type_name(type_of(decorated));
  const char* name = type == "function"                                ? "__wrapped__"
                     : type == "property"                              ? "fget"
                     : type == "staticmethod" || type == "classmethod" ? "__func__"
                                                                       : nullptr;
  PyObject* inner = name == nullptr ? nullptr : api.get_attribute(decorated, name);
  if (inner == nullptr) api.clear_error();
  return inner;
}

bool is_function_of(const HeldGil& gil, const PythonApi& api, PyObject* value, const PyObject* code) {
  api.inc_ref(value);
  bool same = false;
  for (int i = 0; value != nullptr && !same && i < kMostDecorators; ++i) {
    if (std::string_view(type_name(type_of(value))) == "function") {
      PyObject* own = api.get_attribute(value, "__code__");
      same = own == code;
      if (own != nullptr) api.dec_ref(own);
    }
    PyObject* inner = same ? nullptr : within(gil, api, value);
    api.dec_ref(value);
    value = inner;
  }
  if (value != nullptr) api.dec_ref(value);
  return same;
}

// The class that holds it, borrowed; nullptr where there is none.
PyObject* class_of(const HeldGil& gil, const PythonApi& api, PyObject* code, const std::string& name, PyObject* self) {
  auto* classes = read_at<PyObject*>(is_class(self) ? self : type_of(self), kTypeMro);
  for (std::ptrdiff_t i = 0; classes != nullptr && i < api.tuple_size(classes); ++i) {
    PyObject* type = api.tuple_item(classes, i);
    auto* names = read_at<PyObject*>(type, kTypeDict);
    PyObject* value = names == nullptr ? nullptr : api.dict_item(names, name.c_str());
    if (value == nullptr && names != nullptr && name.starts_with("__"))
      value = api.dict_item(names, ("_" + text_of_attribute(gil, api, type, "__name__") + name).c_str());
    if (value != nullptr && is_function_of(gil, api, value, code)) return type;
  }
  return nullptr;
}

}  // namespace

std::string qualified_name(const HeldGil& gil, const PythonApi& api, const RawFrame& frame) {
  PyObject* code = object_at(frame.code);
  if (api.minor >= 11) return text_of_attribute(gil, api, code, "co_qualname");
  std::string name = text_of_attribute(gil, api, code, "co_name");
  PyObject* self = first_argument(gil, api, code, frame.frame);
  PyObject* type = self == nullptr ? nullptr : class_of(gil, api, code, name, self);
  return type == nullptr ? name : text_of_attribute(gil, api, type, "__qualname__") + "." + name;
}

}  // namespace castscope::agent
