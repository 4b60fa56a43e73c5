// Checks whether the copy that the autocast cache serves still matches its source: facts kStaleHit and kLostGrad.
//
// A hit is looked at in deep steps; where the source's version counter differs from the one that this site last saw;
// and once for each entry after an optimizer step that happened while the entry is kept, since fused optimizers raise
// no version counter. Any other hit pays only for deciding that.
#pragma once

#include <atomic>
#include <cstdint>

#include "agent/session/counters.h"
#include "agent/session/process.h"
#include "agent/torch/attention.h"
#include "agent/torch/tensor_facts.h"

namespace castscope::agent {

enum Doubt : std::uint32_t { kInDeepStep = 1, kOptimizerStepped = 2, kOlderCopies = 4 };
extern std::atomic<std::uint32_t> g_doubts;  // over all hits

inline std::uint32_t version_of(const TensorImpl* t) {
  const c10::VariableVersion& version = t->version_counter();
  return version.enabled() ? version.current_version() : 0;
}

// The copy of `source` went into the cache, at the site with this counter.
void copy_kept(Recording& r, const TensorImpl* source, lanes::Counter& counter) noexcept;

inline bool is_in_doubt(const TensorImpl* source, const lanes::Counter& counter) {
  return g_doubts.load(std::memory_order_relaxed) != 0 || counter.version != version_of(source);
}
// A number for a weight whose copy is not kept. It most likely differs from that of another weight at the same address,
// and changes when the weight is written to past its version counter. 0 = the values cannot be looked at.
std::uint32_t content_of(const TensorImpl* source) noexcept;
// The cache served `copy` for `source`, at `hit`.
void look_at_hit(ThreadState& t, const TensorImpl* source, const TensorImpl* copy, Counted hit) noexcept;

// castscope begins to watch a process that ran before: the cache may hold copies whose casts nobody saw, until it is
// cleared. Hits on them are facts kOlderCopy.
void copies_may_be_older();
// Forgets which sources the copies in the cache were made of: they may have changed while nobody watched.
void copies_cleared_unseen(Recording& r);
// The cache was cleared; an optimizer made a step; a deep step began or ended; this is a forked child.
void copies_cleared(Recording& r);
void copies_may_be_stale(Recording& r);
void doubt_all_hits(bool on);
void stale_copies_after_fork();

}  // namespace castscope::agent
