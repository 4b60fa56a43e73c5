// Recognises entries that a site puts into the cache and nobody asks for again.
#pragma once

#include <cstdint>

#include "server/store/run/run_data.h"

namespace castscope::rules {

// Most of the entries came back in the next region, in the same order as before: their sources are alive. (Weights that
// are made anew take the addresses of weights that are gone; in 300 regions up to 62 % of them came in the earlier
// order.)
inline bool come_back(const store::SiteEvidence& e) { return 4 * e.returning >= 3 * e.most_kept; }

// The site put at least `many` entries into the cache during one stay in a region. This leaves out a big model, whose
// entries stop growing after the first pass (hits follow the last new entry), and entries that come back.
inline bool keeps_growing(const store::SiteEvidence& e, std::uint64_t many) {
  return e.most_kept >= many && e.hits_after_growth < e.most_kept && !come_back(e);
}

}  // namespace castscope::rules
