// Which nn.Module a call belongs to: "encoder.layers.0.linear1" under the outermost module of the call, which is known
// by its class and a number: two networks of one class (generator and discriminator, teacher and student) are Net and
// Net#2, in the order of their first use. Numbers of modules that are gone are given again.
//
// A module is known by its address only as long as a weak reference to it still points there: a freed module's address
// is used again. Thread-safe; the GIL is taken for what is new, never under the mutex.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/observe/definitions.h"

namespace castscope::observe {

// A job that makes modules for ever makes no more names than this for a class: the last one stands for all others.
inline constexpr std::uint32_t kMostRootNumbers = 256;

class ModuleNames {
 public:
  struct Module {
    std::uint32_t id = 0;               // definition
    const PyObject* weakref = nullptr;  // nullptr: this class cannot be referred to weakly
  };

  ModuleNames(const PythonApi& api, Definitions& definitions) : api_(api), definitions_(definitions) {}

  // The module of raw.module_frame; {0, nullptr} when there is none. Whoever keeps the weak reference gives it back.
  Module find(const RawStack& raw);
  void give_back(const PyObject* weakref);

  // True when `module_weakref` still stands for `self`. Reads one word, without the GIL: `self` is alive in the
  // caller's own frames, and a dead referent's word is cleared before its memory is freed.
  static bool same(const PyObject* module_weakref, const void* self) {
    return module_weakref == nullptr || weakref_target(module_weakref) == self;
  }

 private:
  struct Root {
    PyObject* module;
    std::string type;
    std::uint32_t number;
  };
  Module look(const void* self);
  Root root_of(PyObject* module);
  void name_tree(const Root& root, PyObject* module, const std::string& path, int depth);
  void add(const Root& root, PyObject* module, const std::string& path);
  void drop_locked(const PyObject* weakref);
  void forget_the_dead();

  const PythonApi& api_;
  Definitions& definitions_;
  std::mutex mutex_;
  std::unordered_map<const void*, Module> known_;
  std::size_t known_at_most_ = 1024;  // when to look for dead ones again
  // Weak references by how many hold them: known_ and the rows of threads' tables, which read them without a lock. One
  // that nobody holds waits in unheld_ until the GIL is at hand.
  std::unordered_map<const PyObject*, std::uint32_t> holders_;
  std::vector<PyObject*> unheld_;
  std::unordered_map<std::string, std::vector<PyObject*>> roots_;  // by class: weak references, index = number - 1
};

}  // namespace castscope::observe
