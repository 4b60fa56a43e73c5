// Which nn.Module a call belongs to: "encoder.layers.0.linear1" under the outermost module of the call.
//
// A module is known by its address only as long as a weak reference to it still points there: a freed module's address
// is used again. Thread-safe; the GIL is taken for what is new, never under the mutex.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

#include "agent/observe/definitions.h"

namespace castscope::observe {

class ModuleNames {
 public:
  struct Module {
    std::uint32_t id = 0;               // definition
    const PyObject* weakref = nullptr;  // nullptr: this class cannot be referred to weakly
  };

  ModuleNames(const PythonApi& api, Definitions& definitions) : api_(api), definitions_(definitions) {}

  // The module of raw.module_frame; {0, nullptr} when there is none.
  Module find(const RawStack& raw);

  // True when `module_weakref` still stands for `self`. Reads one word, without the GIL: `self` is alive in the
  // caller's own frames, and a dead referent's word is cleared before its memory is freed.
  static bool same(const PyObject* module_weakref, const void* self) {
    return module_weakref == nullptr || weakref_target(module_weakref) == self;
  }

 private:
  struct Entry {
    Module module;
    std::string path;
  };
  void name_tree(PyObject* root, PyObject* module, const std::string& path, const std::string& root_type, int depth);
  void add(PyObject* module, const std::string& path, const std::string& root_type);

  const PythonApi& api_;
  Definitions& definitions_;
  std::mutex mutex_;
  std::unordered_map<const void*, Entry> known_;
};

}  // namespace castscope::observe
