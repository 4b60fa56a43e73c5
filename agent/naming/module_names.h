// Tells which nn.Module a call belongs to: "encoder.layers.0.linear1" under the outermost module of the call, which is
// known by its class and a number: two networks of one class (generator and discriminator, teacher and student) are Net
// and Net#2, in the order of their first use. Numbers of modules that are gone are given again.
//
// A module has one name at a time. A module that was first used by itself is named anew once it is met in the tree of
// another outermost module. A module that has a name in the tree of a living one keeps it, however it is called
// (recomputed in backward). Trees are looked at again as an outermost region is entered, so seldom that it costs
// nothing (look_again): modules that were moved, replaced or given another class get new names, and threads drop the
// rows of their tables that have the old ones (renamed_since).
//
// A module is known by its address only as long as a weak reference to it still points there: a freed module's address
// is used again. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "agent/cpython/module_tree.h"
#include "agent/memory/own_memory.h"
#include "agent/naming/definitions.h"

namespace castscope::agent {

// A class gets no more names than this, for a job that makes modules for ever: the last name stands for all others.
inline constexpr std::uint32_t kMostRootNumbers = 256;
// The most renames. Beyond it names stay as they are: a job that changes modules all the time must not pay for it.
inline constexpr std::uint32_t kMostRenames = 1u << 16;

// Whether TorchScript runs modules of this class: torch.jit.script and trace make them.
bool is_script_module(const PyObject* type);

class ModuleNames {
 public:
  struct Module {
    std::uint32_t id = 0;               // definition
    const PyObject* weakref = nullptr;  // nullptr: this class cannot be referred to weakly
  };

  ModuleNames(const PythonApi& api, Definitions& definitions) : api_(api), definitions_(definitions) {}

  // The module of raw.module_frame; {0, nullptr} when there is none. The caller that keeps the weak reference gives it
  // back.
  Module find(const MayWait& may_wait, const RawStack& raw);
  void give_back(const PyObject* weakref);

  // Called as an outermost region is entered. Names what has changed in the trees of outermost modules, if the GIL is
  // held and the time has come: it takes a thousandth of the time, apart from the first looks.
  void look_again();
  // The number of modules that were renamed so far, and the modules that were renamed after the first `since`.
  std::uint32_t renames() const { return renames_.load(std::memory_order_acquire); }
  memory::OwnSet<const void*> renamed_since(std::uint32_t since);

  // True when `module_weakref` still stands for `self`. Reads one word, without the GIL: `self` is alive in the
  // caller's own frames, and a dead referent's word is cleared before its memory is freed.
  static bool same(const PyObject* module_weakref, const void* self) {
    return module_weakref == nullptr || weakref_target(module_weakref) == self;
  }

 private:
  static constexpr std::int64_t kFirstLooksNs = 2'000'000, kLooksAreAThousandth = 1000;

  struct Root {
    PyObject* module;
    std::string type;
    std::uint32_t number;
    std::uint32_t serial;  // this outermost module's, whatever its address is used for later
  };
  struct Known : Module {
    const PyObject* type = nullptr;  // its class when it was named
    const void* root = nullptr;      // outermost module, maybe the module itself
    std::uint32_t root_serial = 0;
    std::uint64_t shape = 0;  // for an outermost module: its tree when it was named; 0 = not named yet
  };
  const Known* alive_locked(const void* module) const;
  bool is_root_locked(const void* module, std::uint32_t serial) const;
  Module look(const void* self, const void* root);
  PyObject* named_under(const HeldGil& gil, const void* root);
  Root root_of(const HeldGil& gil, PyObject* module);
  std::uint32_t number_of(const HeldGil& gil, PyObject* module, const std::string& type);
  void name_tree(const HeldGil& gil, PyObject* root);
  void add(const HeldGil& gil, const Root& root, PyObject* module, const std::string& path);
  void end_tree(const Root& root, const ModuleTree& tree);
  std::vector<std::pair<PyObject*, std::uint64_t>> living_roots(const HeldGil& gil);
  void renamed_locked(const void* module);
  void drop_locked(const PyObject* weakref);
  void forget_the_dead(const HeldGil& gil);

  const PythonApi& api_;
  Definitions& definitions_;
  std::mutex mutex_;
  memory::OwnMap<const void*, Known> known_;
  memory::OwnVector<const void*> tops_;  // outermost modules in known_; dead ones are removed when they are met
  std::uint32_t root_serials_ = 0;
  memory::OwnVector<const void*> renamed_;
  std::atomic<std::uint32_t> renames_{0};  // renamed_.size()
  std::atomic<std::int64_t> looked_ns_{0}, next_look_ns_{0};
  std::size_t known_at_most_ = 1024;  // size at which dead ones are looked for again
  // How many hold each weak reference: known_ and the rows of threads' tables, which read them without a lock. A
  // reference that nobody holds waits in unheld_ until the GIL is at hand.
  memory::OwnMap<const PyObject*, std::uint32_t> holders_;
  memory::OwnVector<PyObject*> unheld_;
  memory::OwnTextMap<memory::OwnVector<PyObject*>> roots_;  // by class: weak references, index = number - 1
};

}  // namespace castscope::agent
