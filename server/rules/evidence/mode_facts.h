// Collects the agent's facts about modes other than eager (lanes::FactKind::kScript…, kTrace…, kCompile…, kExport…) by
// the user's lines at which they stand.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/places/places.h"
#include "server/store/run/run_data.h"

namespace castscope::rules {

// The facts of one kind at one line.
struct ModeFacts {
  std::vector<const store::Fact*> facts;  // at least one
  std::set<store::ProcessId> processes;
  std::uint64_t times = 0;
  const store::Fact& first() const { return *facts.front(); }
};
std::map<Line, ModeFacts> mode_facts(const store::RunData&, lanes::FactKind);

// The text of these facts is the place of a region, "file:line"; "" when it is not known. Returns " (net.py:7)" for a
// title, relative to the run's folder, or "".
std::string region_in_title(const store::RunData&, const ModeFacts&);
// Adds that place to a finding's evidence, where it is known.
void add_region(Finding&, const store::RunData&, const ModeFacts&);
// Writes the evidence of code that is cast though its region has autocast off: casts, operators and the region.
void add_casts(Finding&, const store::RunData&, const ModeFacts&);

// Returns the lines of scripts and traces that switch autocast off and are cast all the same: a dtype that differs
// there, or after them, differs because of that.
std::set<Line> lines_cast_though_off(const store::RunData&);
// Returns "`with torch.autocast("cpu", enabled=False):`".
std::string autocast_off(std::uint8_t device);
// Returns the advice for a script in which eager autocast has to be off: "Call the script in `with
// torch.autocast("cpu", enabled=False):`, …".
std::string call_with_autocast_off(std::uint8_t device);

// Returns the c10::DeviceType of the first of the facts' sites.
std::uint8_t device_of(const store::RunData&, const ModeFacts&);
// Returns "mm, linear": the operators of those sites.
std::string operators_of(const store::RunData&, const ModeFacts&);

}  // namespace castscope::rules
