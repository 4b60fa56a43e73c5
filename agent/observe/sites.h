// From what a call looks like to the counter it goes to.
#pragma once

#include <cstdint>

#include "agent/lanes/format.h"
#include "agent/observe/process.h"

namespace castscope::observe {

// What is known of a call before it is made, apart from its place.
struct CallFacts {
  std::uint8_t from = 0, to = 0, device = 0;
  lanes::Cause cause = lanes::Cause::kUnknown;
  lanes::Phase phase = lanes::Phase::kUnknown;
  lanes::WhyNotCached why = lanes::WhyNotCached::kNone;
  bool requires_grad = false, leaf = true, view = false, parameter = false, grad_mode = true;

  std::uint64_t pack() const {
    return std::uint64_t{from} | std::uint64_t{to} << 8 | std::uint64_t{device} << 16 |
           static_cast<std::uint64_t>(cause) << 24 | static_cast<std::uint64_t>(phase) << 32 |
           static_cast<std::uint64_t>(why) << 40 |
           (std::uint64_t{requires_grad} | std::uint64_t{leaf} << 1 | std::uint64_t{view} << 2 |
            std::uint64_t{parameter} << 3 | std::uint64_t{grad_mode} << 4)
               << 48;
  }
};

struct CallKey {
  std::uint64_t stack, call_site, packed;
  const void* module;
  std::uint32_t region;

  std::uint64_t hash() const {
    std::uint64_t h = mix(stack, call_site, packed);
    return mix(h, reinterpret_cast<std::uint64_t>(module), region);
  }
};

struct Counted {
  lanes::Counter* counter = nullptr;
  std::uint32_t site = 0;
};

// First sight of a key in this thread: names everything, defines the site, gives it a counter. Takes the GIL when code
// or a module is new: must be called before PyTorch's own function (which may hold the cache mutex).
// `tensor` is the TensorImpl, `native_caller` the address that names the native place.
Counted resolve_site(ThreadState& t, const CallKey& key, const CallFacts& facts, const void* native_caller,
                     const void* tensor);
lanes::Counter* resolve_pass(ThreadState& t, std::uint64_t call_site, std::uint32_t region, bool traced,
                             std::uint8_t device, const void* native_caller, const void* tensor);

// Of a site that is defined, or where there is no room, where such calls are counted together.
lanes::Counter* counter_for(ThreadState& t, std::uint32_t site, lanes::Cause cause);

// Forgets the rows of modules that were given another name since this was last asked.
void drop_renamed_modules(ThreadState& t);

inline Counted find_site(ThreadState& t, const CallKey& key, const CallFacts& facts, const void* native_caller,
                         const void* tensor) {
  for (SiteEntry* e = t.sites.begin(key.hash()); e->counter != nullptr; e = t.sites.next(e))
    if (e->stack == key.stack && e->call_site == key.call_site && e->packed == key.packed && e->module == key.module &&
        e->region == key.region && (key.module == nullptr || ModuleNames::same(e->module_weakref, key.module)))
        [[likely]]
      return {e->counter, e->site};
  return resolve_site(t, key, facts, native_caller, tensor);
}

inline std::uint64_t pass_hash(std::uint64_t call_site, std::uint32_t region, std::uint32_t traced) {
  return (call_site ^ (std::uint64_t{region} << 1 | traced) * 0xff51afd7ed558ccdu) * 0x9e3779b97f4a7c15u >> 20;
}
inline lanes::Counter* find_pass(ThreadState& t, std::uint64_t call_site, std::uint32_t region, bool traced,
                                 std::uint8_t device, const void* native_caller, const void* tensor) {
  for (PassEntry* e = t.passes.begin(pass_hash(call_site, region, traced)); e->counter != nullptr; e = t.passes.next(e))
    if (e->call_site == call_site && e->region == region && e->traced == traced) [[likely]]
      return e->counter;
  return resolve_pass(t, call_site, region, traced, device, native_caller, tensor);
}

}  // namespace castscope::observe
