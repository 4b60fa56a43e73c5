// Which of the policy's rules for modules holds for the call that a thread is in: that of the innermost module for
// which there is one, by the tree of the outermost module of the call. The same rule as server/policy/decide.h
// (rule_of).
//
// A module is known by its address only as long as a weak reference to it still points there. Thread-safe; the GIL is
// taken for modules that are new, never under the mutex.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/enforce/pattern.h"
#include "agent/enforce/policy_table.h"
#include "agent/observe/python_stack.h"

namespace castscope::enforce {

class ModuleRules {
 public:
  ModuleRules(const observe::PythonApi& api, const PolicyTable& policy);

  // An index into PolicyTable::modules; -1: no module that has a rule, or none at all.
  int running(const observe::PyThread* lasting);
  // Modules may have been moved, or given others below them.
  void look_again();

 private:
  struct Known {
    const observe::PyObject* weakref;
    int rule;
  };
  int find(const void* self, const observe::PyThread* lasting);
  bool known(const void* self, int& rule);
  void name_tree(observe::PyObject* root);
  int own_rule(observe::PyObject* module, const std::string& path);
  void meet_module_calls();

  const observe::PythonApi& api_;
  std::vector<Pattern> patterns_;  // of the policy's modules, in its order
  std::atomic<std::uint32_t> generation_{1};
  std::atomic<bool> met_{false};  // how modules are called is known
  std::mutex mutex_;
  std::unordered_map<const void*, Known> known_;
};

}  // namespace castscope::enforce
