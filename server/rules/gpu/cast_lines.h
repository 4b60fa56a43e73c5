// Groups casts by the line of code that makes them, with their time on the device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/rules/evidence/counts/device_time.h"
#include "server/rules/evidence/places/places.h"

namespace castscope::rules {

struct CastLine {
  Line line;
  store::SiteId site = {};  // the costliest of the line's sites
  bool mixed = false;       // the line has casts of other operators or arguments, too
  DeviceWork work;
};
// Returns the lines, costliest first; casts that no GPU worked for are left out.
std::vector<CastLine> cast_lines(const store::RunData&, const DeviceTime&);

// Returns the first cast that a line of code made, since a finding stands at one; else the first. The list must not be
// empty.
const CastLine& first_placed(const std::vector<CastLine>&);

// Returns "train.py:12 linear weight, 1.2 ms", "train.py:12 linear weight and others, 1.4 ms".
std::string text_of(const store::RunData&, const CastLine&);
std::string readable_time(double ns);  // "1.2 ms", "3.4 µs"

// Advises what to do about casts of this kind.
std::string advice_for(const store::Site&);

}  // namespace castscope::rules
