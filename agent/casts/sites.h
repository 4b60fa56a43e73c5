// Leads from the facts of a call to the counter that counts it.
#pragma once

#include <cstdint>

#include "agent/casts/call_facts.h"
#include "agent/session/counters.h"
#include "agent/session/process.h"

namespace castscope::agent {

// Handles the first sight of a key in this thread: names everything, defines the site, gives it a counter. `tensor` is
// the TensorImpl, `native_caller` the address that names the native place.
Counted resolve_site(const MayWait& may_wait, ThreadState& t, const CallKey& key, const CallFacts& facts,
                     const void* native_caller, const void* tensor);
lanes::Counter* resolve_pass(ThreadState& t, std::uint64_t call_site, std::uint32_t region, bool traced,
                             std::uint8_t device, const void* native_caller, const void* tensor);

// Call it where PyTorch holds no lock: before its own function, which may hold the cache mutex, or after it. The token
// is made here so that a known site costs no argument for it.
inline Counted find_site(ThreadState& t, const CallKey& key, const CallFacts& facts, const void* native_caller,
                         const void* tensor) {
  for (SiteEntry* e = t.sites.begin(key.hash()); e->counter != nullptr; e = t.sites.next(e))
    if (e->stack == key.stack && e->call_site == key.call_site && e->packed == key.packed && e->module == key.module &&
        e->region == key.region && (key.module == nullptr || ModuleNames::same(e->module_weakref, key.module)))
        [[likely]]
      return {e->counter, e->site};
  return resolve_site(MayWait::no_lock_held(), t, key, facts, native_caller, tensor);
}

inline lanes::Counter* find_pass(ThreadState& t, std::uint64_t call_site, std::uint32_t region, bool traced,
                                 std::uint8_t device, const void* native_caller, const void* tensor) {
  for (PassEntry* e = t.passes.begin(pass_hash(call_site, region, traced)); e->counter != nullptr; e = t.passes.next(e))
    if (e->call_site == call_site && e->region == region && e->traced == traced) [[likely]]
      return e->counter;
  return resolve_pass(t, call_site, region, traced, device, native_caller, tensor);
}

}  // namespace castscope::agent
