// What a site puts into the cache and nobody asks for again.
#pragma once

#include <cstdint>

#include "server/store/run/run_data.h"

namespace castscope::rules {

// Most of them came back in the next region, one after another as before: their sources are alive. Weights that are
// made anew take the addresses of those that are gone, in 300 regions up to 62 % of them in the order of before.
inline bool come_back(const store::SiteEvidence& e) { return 4 * e.returning >= 3 * e.most_kept; }

// So many entries during one stay in a region. Not those of a big model, whose entries stop growing after the first
// pass (hits follow the last new entry), nor those that come back.
inline bool keeps_growing(const store::SiteEvidence& e, std::uint64_t many) {
  return e.most_kept >= many && e.hits_after_growth < e.most_kept && !come_back(e);
}

}  // namespace castscope::rules
