// The policy that is enforced in this process. It is made once and never taken down: threads may still be in it.
#pragma once

#include "agent/enforce/copies.h"
#include "agent/enforce/decided/policy_table.h"
#include "agent/enforce/modules.h"

namespace castscope::enforce {

struct Enforced {
  PolicyTable policy;
  bool on_cpu;  // the policy says something of the CPU: its copies of weights are kept by us, as the policy wants
  CacheOptions cache;
  Copies* copies;
  ModuleRules* modules;
};
extern Enforced* g_enforced;  // nullptr: nothing is enforced

}  // namespace castscope::enforce
