// What a site puts into the cache and nobody asks for again.
#pragma once

#include <cstdint>

#include "server/store/run_data.h"

namespace castscope::rules {

// So many entries during one stay in a region. Not those of a big model, whose entries stop growing after the first
// pass (hits follow the last new entry), nor those that come back in the next region (their sources are alive).
inline bool keeps_growing(const store::SiteEvidence& e, std::uint64_t many) {
  return e.most_kept >= many && e.hits_after_growth < e.most_kept && e.returning < many / 2;
}

}  // namespace castscope::rules
