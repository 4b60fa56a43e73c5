#include "agent/errors/errors.h"

#include <c10/util/Exception.h>
#include <dlfcn.h>

#include <exception>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>

#include "agent/operators/deep.h"
#include "agent/script/misplaced_sources.h"
#include "agent/session/call_stack.h"
#include "agent/session/facts.h"
#include "agent/torch/autocast_state.h"
#include "agent/torch/originals.h"
#include "agent/torch/own_question.h"
#include "agent/torch/torch_python.h"
#include "agent/torchscript/interpreter_state.h"

namespace castscope::agent {
namespace {

using lanes::ErrorKind;

// Longer texts hold C++ stacks or lists of candidates; the error itself stands at the beginning.
constexpr std::size_t kMostText = 500;
// Code that raises for control flow may put a new number into each text, so at most this many different texts are told
// from one place (a stack), and from one process.
constexpr std::uint32_t kMostAtOnePlace = 4, kMostInProcess = 400;
constexpr std::size_t kMostStacks = 10'000;  // remembered in one thread

std::string_view cut(std::string_view text) {
  if (text.size() <= kMostText) return text;
  std::size_t end = kMostText;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // do not cut within a character
  return text.substr(0, end);
}

// PyTorch runs the job's code on tensors without values, to learn what it does. An error there is raised again, or
// avoided, when the code really runs.
bool is_no_rehearsal(Definitions& definitions, const RawStack& stack, lanes::FactDefinition& fact) {
  return fact.stack != 0 &&
         !definitions.passes_through(stack, [](const Definitions::Place& at) { return runs_without_values(at.file); });
}

bool has_room(ThreadState& t, std::string_view text, std::uint64_t stack) {
  if (t.errors.size() >= kMostStacks) t.errors.clear();
  ThreadState::ErrorsAt& at = t.errors[stack];
  const std::size_t hash = std::hash<std::string_view>{}(text);
  for (std::uint32_t i = 0; i < at.known; ++i)
    if (at.texts[i] == hash) return true;
  if (at.known == kMostAtOnePlace) return false;
  if (g_process.recording.load()->errors.fetch_add(1, std::memory_order_relaxed) >= kMostInProcess) return false;
  at.texts[at.known++] = hash;
  return true;
}

// Notes an error of this thread. Backward nodes hold locks of their own, for which the thread that has the GIL may be
// waiting. The code of such a node must be known already, and the call of backward makes it known.
class Noting {
 public:
  explicit Noting(ThreadState& t) : t_(t), gil_(HeldGil::asked(g_process.python)), in_node_(in_backward()) {}

  bool can_name_stack() const {
    if (gil_ != nullptr || !in_node_) return true;
    RawStack raw;
    PythonStack::capture(g_process.python, t_.python_thread, raw);
    return g_process.recording.load()->definitions.pinned(raw);
  }
  void note(const FactSeen& seen) const {
    if (gil_ != nullptr)
      note_fact(MayWait::having(*gil_), t_, seen, is_no_rehearsal);
    else if (in_node_)
      note_fact_as_known(t_, seen, is_no_rehearsal);
    else
      note_fact(MayWait::before_original(), t_, seen, is_no_rehearsal);
  }

 private:
  ThreadState& t_;
  const HeldGil* const gil_;
  const bool in_node_;
};

// When an operator of a graph raises, note the arguments that TorchScript's pass leaves as they come.
void note_left_arguments(const Noting& noting) {
  if (script::running() == nullptr) return;
  const auto node = script::present_note();
  if (node == nullptr || node->left.empty()) return;
  const std::string text = node->op + " " + node->left;
  noting.note({.kind = lanes::FactKind::kScriptLeavesArgument, .text = text});
}

void note_error(ThreadState& t, ErrorKind kind, std::string_view text) {
  text = cut(text);
  if (PythonStack::top(g_process.python, t.python_thread) == nullptr) return;  // the error comes from nobody's line
  const Noting noting(t);
  if (!has_room(t, text, summary_of(t).hash) || !noting.can_name_stack()) return;
  const std::uint32_t use = operators::open_use(t);
  noting.note({lanes::FactKind::kError, static_cast<std::uint16_t>(kind), use, text});
  if (kind == ErrorKind::kNative) note_left_arguments(noting);
}

// Errors in threads that have cast nothing are not ours to tell, unless they speak of autocast: a script may refuse
// autocast before the first cast.
bool is_ours(std::string_view text) { return text.find("autocast") != text.npos || text.find("Autocast") != text.npos; }

// nullptr when nothing is recorded, or this thread is in a call of ours.
ThreadState* watching_thread(std::string_view text) {
  if (asks_own_question() || !g_process.has_python) return nullptr;
  if (g_process.silent()) return nullptr;
  ThreadState* t = thread_slot();
  if (t == nullptr && is_ours(text)) t = thread_state();
  return t == nullptr || t->ignoring ? nullptr : t;
}

void note_native(const std::string& text) {
  ThreadState* t = watching_thread(text);
  if (t == nullptr) return;
  OwnQuestion own;
  try {
    t->last_error = cut(text);
    note_error(*t, ErrorKind::kNative, text);
  } catch (const std::exception&) {  // out of memory: the error is not told
  }
}

// c10::Error(SourceLocation, std::string): the string is passed as the address of the caller's temporary.
using Construct = void (*)(void* error, c10::SourceLocation where, std::string* text);
static_assert(sizeof(c10::SourceLocation) == 24 && std::is_trivially_copyable_v<c10::SourceLocation>);

void construct_complete(void* error, c10::SourceLocation where, std::string* text) {
  note_native(*text);  // the original moves it away
  original<Construct>(kErrorComplete)(error, where, text);
}

void construct_base(void* error, c10::SourceLocation where, std::string* text) {
  note_native(*text);
  original<Construct>(kErrorBase)(error, where, text);
}

// ---------------------------------------------------------------------------------------------------------------
// Python

// PyTypeObject::tp_init and tp_vectorcall, at these places in every version that layout_of knows. Where tp_vectorcall
// is set (from 3.12 on), it makes an exception from its arguments without tp_init.
constexpr std::size_t kTypeInit = 296, kTypeVectorcall = 400;
constexpr std::uint64_t kIsString = 1ull << 28;  // Py_TPFLAGS_UNICODE_SUBCLASS

using Init = int (*)(PyObject* self, PyObject* args, PyObject* kwargs);
using Vectorcall = PyObject* (*)(PyObject* type, PyObject* const* args, std::size_t count, PyObject* names);
constexpr std::size_t kAlsoCount = std::size_t{1} << 63;  // PY_VECTORCALL_ARGUMENTS_OFFSET
constexpr const char* kTypes[] = {"PyExc_RuntimeError", "PyExc_ValueError", "PyExc_TypeError"};
Init g_inits[std::size(kTypes)];
Vectorcall g_vectorcalls[std::size(kTypes)];

PyObject* running_code(const ThreadState& t) {
  const PythonApi& api = g_process.python;
  PyObject* code = object_at(PythonStack::running(api, t.python_thread).code);
  return code != nullptr && type_of(code) == api.code_type ? code : nullptr;
}

// "" when it is not a string.
std::string_view text_of(const HeldGil&, PyObject* given) {
  const PythonApi& api = g_process.python;
  if (given == nullptr || (type_flags(type_of(given)) & kIsString) == 0) return {};
  std::ptrdiff_t size = 0;
  const char* text = api.utf8(given, &size);
  if (text != nullptr) return {text, static_cast<std::size_t>(size)};
  api.clear_error();  // half of a surrogate pair
  return {};
}

// `given`: the first argument of the exception, borrowed.
void note_python(const HeldGil& gil, PyObject* given) {
  const PythonApi& api = g_process.python;
  if (given == nullptr || api.error_occurred() != nullptr) return;
  const std::string_view text = text_of(gil, given);
  ThreadState* t = text.empty() ? nullptr : watching_thread(text);
  if (t == nullptr) return;
  OwnQuestion own;
  try {
    PyObject* code = running_code(*t);
    if (code == nullptr) return;
    const std::string file = text_attribute(gil, api, code, "co_filename");
    // An error outside of torch's code is the job's own, unless that code is the body of an operator. Where torch lies
    // is known from the first stack on, and a thread's first error may come before any stack.
    const bool pytorchs = g_process.recording.load()->definitions.is_in_torch(file) ||
                          (is_ours(text) && file.find("/torch/") != std::string::npos);
    if (!pytorchs && operators::open_use(*t) == 0) return;
    // A native error on its way through Python code of PyTorch becomes an exception object there.
    if (!t->last_error.empty() && text.starts_with(t->last_error)) return;
    if (text.find("decorator is not supported in script mode") != text.npos && tell_refused_decorator(gil, text))
      return;
    note_error(*t, ErrorKind::kPython, text);
  } catch (const std::exception&) {  // out of memory: the error is not told
  }
}

// Python makes an exception object with the GIL: it calls tp_init and tp_vectorcall as it calls any slot.
template <std::size_t I>
int init(PyObject* self, PyObject* args, PyObject* kwargs) {
  const int result = g_inits[I](self, args, kwargs);
  const PythonApi& api = g_process.python;
  if (result == 0 && args != nullptr && type_of(args) == api.tuple_type && api.tuple_size(args) > 0)
    note_python(HeldGil::of_caller(), api.tuple_item(args, 0));
  return result;
}

template <std::size_t I>
PyObject* vectorcall(PyObject* type, PyObject* const* args, std::size_t count, PyObject* names) {
  PyObject* made = g_vectorcalls[I](type, args, count, names);
  if (made != nullptr && (count & ~kAlsoCount) > 0) note_python(HeldGil::of_caller(), args[0]);
  return made;
}

constexpr Init kInits[] = {init<0>, init<1>, init<2>};
constexpr Vectorcall kVectorcalls[] = {vectorcall<0>, vectorcall<1>, vectorcall<2>};

template <typename Function>
void take_slot(PyObject* type, std::size_t offset, Function& before, Function hook) {
  Function& slot = *reinterpret_cast<Function*>(reinterpret_cast<char*>(type) + offset);
  if (slot == nullptr) return;
  before = slot;
  slot = hook;
}

}  // namespace

void* error_hook(castscope_hook hook) {
  switch (hook) {
    case kErrorComplete:
      return reinterpret_cast<void*>(&construct_complete);
    case kErrorBase:
      return reinterpret_cast<void*>(&construct_base);
    default:
      return nullptr;
  }
}

void watch_python_errors(const HeldGil&) {
  if (g_inits[0] != nullptr) return;
  for (std::size_t i = 0; i < std::size(kTypes); ++i) {
    const auto* variable = static_cast<PyObject**>(dlsym(RTLD_DEFAULT, kTypes[i]));
    if (variable == nullptr || *variable == nullptr) continue;
    take_slot(*variable, kTypeInit, g_inits[i], kInits[i]);
    take_slot(*variable, kTypeVectorcall, g_vectorcalls[i], kVectorcalls[i]);
  }
}

}  // namespace castscope::agent
