// Collects the facts about cache hits (kStaleHit, kLostGrad) by the line of the user's own that consumed the copy.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/places/places.h"

namespace castscope::rules {

struct ServedCopies {
  store::StackId stack = {};    // of a line that consumed one
  store::RegionId region = {};  // the region in which it did; 0 = not known
  std::uint64_t times = 0;      // hits that were inspected: a lower bound
  std::set<std::string> sources;
  std::set<lanes::Staleness> changes;  // for kStaleHit
};
using ServedByPlace = std::map<Line, ServedCopies>;

// Returns the copies that facts of this kind report, of sites that are `wanted`. It leaves out weights that were
// written to with the values that they already had.
ServedByPlace served_copies(const store::RunData&, lanes::FactKind, bool (*wanted)(const store::Site&));

// Returns "written to in place", …
std::string changes_text(const std::set<lanes::Staleness>&);

// Adds the place where the region was opened, as evidence and as a related place; does nothing for region 0, and where
// the place is not known.
void add_opening_place(const store::RunData&, store::RegionId region, Finding&);

}  // namespace castscope::rules
