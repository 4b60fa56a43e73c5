// What is enforced in this process: made once, never taken down, threads may still be in it.
#pragma once

#include "agent/enforce/copies.h"
#include "agent/enforce/modules.h"
#include "agent/enforce/policy_table.h"

namespace castscope::enforce {

struct Enforced {
  PolicyTable policy;
  CacheOptions cache;
  Copies* copies;
  ModuleRules* modules;
};
extern Enforced* g_enforced;  // nullptr: nothing

}  // namespace castscope::enforce
