// Finds the policy's rule for modules that holds for the call that a thread is in: that of the innermost module for
// which there is one, by the tree of the outermost module of the call. The same rule as server/policy/decide.h
// (rule_of).
//
// The same module may be called within one outermost module and another, and has a path in each. Modules are known by
// their addresses only as long as weak references to them still point there. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "agent/cpython/python_stack.h"
#include "agent/enforce/decided/pattern.h"
#include "agent/enforce/decided/policy_table.h"
#include "agent/memory/own_memory.h"
#include "agent/memory/spin_lock.h"

namespace castscope::enforce {

class ModuleRules {
 public:
  ModuleRules(const agent::PythonApi& api, const PolicyTable& policy);

  // An index into PolicyTable::modules; -1: no running module has a rule, or no module runs. Takes the GIL for modules
  // that are new: call it as an operator begins.
  int running(const agent::PyThread* lasting);
  // Called when modules may have been moved, or given others below them.
  void look_again();

 private:
  using Running = agent::PythonStack::Modules;
  // known_ holds it, and so do the rows of threads, which read theirs without a lock. A reference that nothing else
  // holds waits in unheld_ until somebody has the GIL.
  using WeakRef = std::shared_ptr<const agent::PyObject>;
  struct Known {
    WeakRef innermost, outermost;
    int rule = -1;
    bool is_of(const Running& modules) const;
  };
  struct Hash {
    std::size_t operator()(const Running&) const noexcept;
  };
  struct Row;  // one per thread
  static Row& row_of(const Running& modules);
  Known find(const agent::MayWait& may_wait, const Running& modules);
  bool known(const Running& modules, Known& into);
  void name_tree(const agent::HeldGil& gil, agent::PyObject* tree, const void* outermost);
  WeakRef reference_to(const agent::HeldGil& gil, const void* module);
  void forget_the_dead(const agent::HeldGil& gil);
  int own_rule(const agent::HeldGil& gil, agent::PyObject* module, const std::string& path);
  void meet_module_calls(const agent::MayWait& may_wait);

  const agent::PythonApi& api_;
  std::vector<Pattern> patterns_;   // one for each of the policy's modules, in its order
  std::vector<std::string> texts_;  // as they are written
  std::atomic<std::uint32_t> generation_{1};
  std::atomic<bool> met_{false};  // whether the way modules are called is known
  std::mutex mutex_;
  memory::OwnMap<Running, Known, Hash> known_;
  std::size_t known_at_most_ = 1024;  // size at which dead ones are looked for again
  memory::SpinLock unheld_lock_;
  memory::OwnVector<const agent::PyObject*> unheld_;
};

}  // namespace castscope::enforce
