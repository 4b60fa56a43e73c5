// Finds the processes that a finding is about: those in which something was counted at its line. A finding itself
// belongs to the whole run, since ranks run the same code.
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
  // Returns the processes by their number in the run; none where nothing was counted at the finding's line, nor at its
  // related lines.
  std::set<store::ProcessId> of(const store::Finding&) const;

 private:
  std::map<Line, std::set<store::ProcessId>> processes_;
};

}  // namespace castscope::rules
