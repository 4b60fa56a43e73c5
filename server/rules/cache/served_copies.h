// What facts say of cache hits (kStaleHit, kLostGrad), by the line of the user's own that consumed the copy.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/places/places.h"

namespace castscope::rules {

struct ServedCopies {
  std::uint32_t stack = 0;   // that consumed one
  std::uint32_t region = 0;  // in which; 0 = not known
  std::uint64_t times = 0;   // that were looked at: a lower bound
  std::set<std::string> sources;
  std::set<lanes::Staleness> changes;  // of kStaleHit
};
using ServedByPlace = std::map<Line, ServedCopies>;

// Facts of this kind whose site is wanted. Copies that were written to with the values that they had are none.
ServedByPlace served_copies(const store::RunData&, lanes::FactKind, bool (*wanted)(const store::Site&));

// "written to in place", …
std::string changes_text(const std::set<lanes::Staleness>&);

// Where the region was opened, as evidence and as a related place; nothing for 0, and where that is not known.
void add_opening_place(const store::RunData&, std::uint32_t region, Finding&);

}  // namespace castscope::rules
