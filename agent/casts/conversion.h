// The conversion that a thread is in the midst of. The calls by which PyTorch carries it out are not conversions of
// their own. A conversion that Python code makes meanwhile is one: a TorchDispatchMode sees each operator, and may do
// what it likes.
#pragma once

#include "agent/session/process.h"
#include "agent/torch/tensor_facts.h"

namespace castscope::agent {

class Converting {
 public:
  Converting(ThreadState& t, const TensorImpl* source, ScalarType to)
      : t_(t), before_(t.conversion), to_caller_(t.to_caller) {
    t.conversion = {source, running_frame(t), static_cast<std::uint8_t>(to), !source->key_set().has_any(kOddKeys)};
    t.to_caller = nullptr;
  }
  ~Converting() {
    t_.conversion = before_;
    t_.to_caller = to_caller_;
  }
  Converting(const Converting&) = delete;
  Converting& operator=(const Converting&) = delete;

  // Returns whether a conversion that begins now counts as a new one, and not as a part of the conversion that the
  // thread is in the midst of. A tensor that is not plain memory is converted by Python code, or by converting the
  // tensors that it holds: those inner conversions are parts of it.
  static bool begins(const ThreadState& t, const TensorImpl* source, ScalarType to) {
    const Conversion& c = t.conversion;
    if (c.source == nullptr) return true;
    if (!c.plain || (source == c.source && static_cast<std::uint8_t>(to) == c.to)) return false;
    return running_frame(t) != c.frame;
  }

 private:
  static const void* running_frame(const ThreadState& t) {
    return g_process.has_python ? PythonStack::top(g_process.python, t.python_thread) : nullptr;
  }

  ThreadState& t_;
  const Conversion before_;
  const void* const to_caller_;
};

}  // namespace castscope::agent
