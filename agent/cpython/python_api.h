// The one seam to CPython: functions resolved by name in the running process, and the few struct offsets that are read
// without the GIL. No Python.h: the same agent source serves every CPython that the process may bring.
//
// Offsets are taken from the headers of each version (Include/internal/pycore_frame.h, Include/cpython/pystate.h and
// pyframe) and are proved against the C API on the live stack before they are used (python_stack.cc, verify).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace castscope::agent {

struct PyObject;  // opaque: only addresses and the two words below
struct PyThread;  // PyThreadState

// The byte offsets of a frame's words. Field names are those of _PyInterpreterFrame; before 3.11 a frame is a
// PyFrameObject.
struct FrameLayout {
  std::size_t thread_frame;  // PyThreadState → current frame, or → cframe when through_cframe
  bool through_cframe;       // 3.11 and 3.12 go through _PyCFrame
  std::size_t cframe_frame;  // _PyCFrame → current_frame
  std::size_t code;          // f_code, 3.13+: f_executable
  std::size_t previous;
  std::size_t instruction;            // prev_instr, 3.13+: instr_ptr; before 3.11: f_lasti, an int
  std::size_t owner;                  // one byte
  std::uint16_t first_foreign_owner;  // owners from here on are not Python frames; kNoOwners: all are
  std::size_t locals;                 // localsplus
  bool tagged;                        // 3.14: references carry tag bits in the low two
  std::uint8_t lasti_bytes;           // the bytes of code that one step of f_lasti stands for; 0: an address instead

  static constexpr std::uint16_t kNoOwners = 256;
};

// The offsets of CPython 3.`minor` (release builds, with the GIL); false where they are not known.
bool layout_of(int minor, FrameLayout& layout);

struct PythonApi {
  int (*is_initialized)();
  int (*is_finalizing)();      // nullptr when the version has none
  PyThread* (*this_thread)();  // PyGILState_GetThisThreadState
  // Whether this thread has the GIL. This is not PyGILState_Check, which says yes for every thread before Python is
  // initialized and once it has a subinterpreter.
  int (*gil_check)();
  int (*gil_ensure)();
  void (*gil_release)(int);
  void (*inc_ref)(PyObject*);
  void (*dec_ref)(PyObject*);
  PyObject* (*current_frame)();                               // PyEval_GetFrame, borrowed
  PyObject* (*frame_code)(PyObject*);                         // PyFrame_GetCode, new
  PyObject* (*frame_back)(PyObject*);                         // PyFrame_GetBack, new
  int (*frame_lasti)(PyObject*);                              // PyFrame_GetLasti, before 3.11 frame.f_lasti
  int (*code_line)(PyObject*, int);                           // PyCode_Addr2Line(code, byte offset)
  PyObject* (*get_attribute)(PyObject*, const char*);         // new
  const char* (*utf8)(PyObject*, std::ptrdiff_t*);            // PyUnicode_AsUTF8AndSize
  PyObject* (*encoded)(PyObject*, const char*, const char*);  // PyUnicode_AsEncodedString, new
  int (*bytes)(PyObject*, char**, std::ptrdiff_t*);           // PyBytes_AsStringAndSize
  void (*clear_error)();
  PyObject* (*error_occurred)();
  PyObject* (*generic_dict)(PyObject*, void*);     // PyObject_GenericGetDict, new
  PyObject* (*dict_item)(PyObject*, const char*);  // PyDict_GetItemString, borrowed
  int (*dict_next)(PyObject*, std::ptrdiff_t*, PyObject**, PyObject**);
  PyObject* (*new_weakref)(PyObject*, PyObject*);  // PyWeakref_NewRef, new
  PyObject* (*import_modules)();                   // PyImport_GetModuleDict, borrowed
  PyObject* (*call_method)(PyObject*, const char*, const char*, ...);
  PyObject* (*list_item)(PyObject*, std::ptrdiff_t);  // borrowed
  std::ptrdiff_t (*list_size)(PyObject*);
  PyObject* (*tuple_item)(PyObject*, std::ptrdiff_t);  // borrowed
  std::ptrdiff_t (*tuple_size)(PyObject*);
  int (*is_true)(PyObject*);
  void* none;
  void* code_type;
  void* tuple_type;
  void* list_type;
  int major = 0, minor = 0;
  bool free_threaded = false;

  FrameLayout frame{};
  // Offset of the bytecode in a code object: PyCode_Type.tp_basicsize. Before 3.11 the bytecode lies elsewhere, and an
  // instruction is given as if it followed the code object's address.
  std::size_t code_bytes = 0;
};

// Resolves everything once, when the agent starts. False when this process has no Python, or one whose stack layout is
// not known (before 3.9, or free-threaded): then calls have no Python site.
bool load_python_api(PythonApi& api);
// The text "3.11.7" of the running interpreter, "" without Python.
const char* python_version();

// The calling thread's state if it is the first of the interpreter, which is part of _PyRuntime (from 3.11 on) and so
// is readable as long as the program runs. nullptr for every other thread: its state's memory ends with it. Asking for
// the state at every cast would cost 4 ns.
const PyThread* lasting_thread(const PythonApi& api);

// Proves that the calling thread has the GIL. A function that needs it takes the proof as its first argument.
class HeldGil {
 public:
  // For a function that Python calls, or the job through ctypes.PyDLL. Say there why that is so.
  [[nodiscard]] static HeldGil of_caller() { return HeldGil(); }
  // nullptr when the thread does not have it.
  [[nodiscard]] static const HeldGil* asked(const PythonApi& api);
  HeldGil(const HeldGil&) = delete;
  HeldGil& operator=(const HeldGil&) = delete;

 protected:
  HeldGil() = default;
};

// Allows to wait for the GIL. Its holder may be waiting for a lock that our thread has: one of PyTorch's (the mutex of
// autocast's cache, that of a backward node) or one of castscope's. So a hook makes it as it begins, and hands it on to
// those that may need it; a function that runs under a mutex of castscope's gets none.
class MayWait {
 public:
  // PyTorch's own function, which may take a lock, is not called yet.
  [[nodiscard]] static MayWait before_original() { return MayWait(); }
  // PyTorch calls this without a lock, or its own function has returned.
  [[nodiscard]] static MayWait no_lock_held() { return MayWait(); }
  // A thread that has the GIL does not wait for it.
  [[nodiscard]] static MayWait having(const HeldGil&) { return MayWait(); }
  MayWait(const MayWait&) = delete;
  MayWait& operator=(const MayWait&) = delete;

 private:
  MayWait() = default;
};

// A Python string as UTF-8. Half a surrogate pair in it, which stands for a byte in a file's name, becomes "\udce9" as
// Python writes it, so that a name with such a byte is still a name. "" if it is not a string.
std::string text_of(const HeldGil& gil, const PythonApi& api, PyObject* string);

template <typename T>
T read_at(const void* base, std::size_t offset) {
  return *reinterpret_cast<const T*>(static_cast<const char*>(base) + offset);
}
inline PyObject* type_of(const PyObject* o) { return read_at<PyObject*>(o, 8); }
// PyTypeObject::tp_name: PyObject_VAR_HEAD is 24 bytes.
inline const char* type_name(const PyObject* type) { return read_at<const char*>(type, 24); }
inline PyObject* type_base(const PyObject* type) { return read_at<PyObject*>(type, 256); }           // tp_base
inline std::uint64_t type_flags(const PyObject* type) { return read_at<std::uint64_t>(type, 168); }  // tp_flags
// Py_TPFLAGS_DICT_SUBCLASS: whether it is a dict or of a class below it. PyTorch 2.4 keeps what a module has in
// OrderedDicts.
inline bool is_dict(const PyObject* o) { return (type_flags(type_of(o)) >> 29 & 1) != 0; }
// Makes an argument for Python's functions of an address that was only compared until now.
inline PyObject* object_at(const void* p) { return static_cast<PyObject*>(const_cast<void*>(p)); }
// tp_version_tag: it changes with each change of the class or of one above it, and is 0 until an attribute is asked
// for.
inline std::uint32_t type_version(const PyObject* type) { return read_at<std::uint32_t>(type, 384); }
// How many classes derive from this one: PyDictObject::ma_used of tp_subclasses.
inline std::ptrdiff_t type_children(const PyObject* type) {
  const void* children = read_at<const void*>(type, 360);
  return children == nullptr ? 0 : read_at<std::ptrdiff_t>(children, 16);
}
// Py_TPFLAGS_TYPE_SUBCLASS: whether it is a class.
inline bool is_class(const PyObject* o) { return (type_flags(type_of(o)) >> 31 & 1) != 0; }
inline PyObject* cell_contents(const void* cell) { return read_at<PyObject*>(cell, 16); }  // PyCellObject::ob_ref
// PyWeakReference::wr_object follows PyObject_HEAD; it becomes None when the referent dies, before its memory is freed.
inline void* weakref_target(const PyObject* weakref) { return read_at<void*>(weakref, 16); }

// Takes the GIL for a scope. It is not taken (held() is false) while the interpreter goes down or for a thread that it
// does not know: PyGILState_Ensure would make a new thread state there, or end the thread. It is a proof only once
// held() has said so.
class Gil : public HeldGil {
 public:
  Gil(const MayWait&, const PythonApi& api) : api_(api) {
    if (api.gil_ensure == nullptr || api.this_thread() == nullptr) return;
    if (api.is_finalizing != nullptr && api.is_finalizing() != 0) return;
    state_ = api.gil_ensure();
    held_ = true;
  }
  ~Gil() {
    if (held_) api_.gil_release(state_);
  }
  [[nodiscard]] bool held() const { return held_; }

 private:
  const PythonApi& api_;
  int state_ = 0;
  bool held_ = false;
};

// Our C-API calls must not disturb an exception that the job has in flight.
class KeepError {
 public:
  KeepError(const HeldGil& gil, const PythonApi& api);
  ~KeepError();
  KeepError(const KeepError&) = delete;
  KeepError& operator=(const KeepError&) = delete;

 private:
  const PythonApi& api_;
  PyObject *type_ = nullptr, *value_ = nullptr, *trace_ = nullptr;
};

}  // namespace castscope::agent
