// Which processes do what a finding is about: those in which something was counted at its line. A finding itself is of
// the run, since ranks run the same code.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "server/rules/evidence/places/places.h"
#include "server/store/run/run_data.h"

namespace castscope::rules {

class ProcessesByLine {
 public:
  explicit ProcessesByLine(const store::RunData&);
  // By number in the run. Where nothing was counted at its line, nor at those that belong to it: none.
  std::set<std::uint32_t> of(const store::Finding&) const;

 private:
  std::map<Line, std::set<std::uint32_t>> processes_;
};

}  // namespace castscope::rules
