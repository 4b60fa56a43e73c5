// What of a run was looked at operator by operator (docs/decisions/deep-steps.md), and what was not.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "server/store/run/run_data.h"

namespace castscope::rules {

struct LookedAt {
  // Of all processes. steps: of those that entered a region; ns: spent looking.
  std::uint64_t steps = 0, deep_steps = 0, operators = 0, ns = 0;
  // The first step that was not looked at to its end, of the process in which that came first.
  struct Gap {
    store::ProcessId process = {};
    std::uint64_t step = 0;
  };
  std::optional<Gap> first_gap;
  std::uint64_t refused = 0;  // how often the budget did not allow to look at new code
  // Places in regions where autocast cast or hit, or where code converted, with their modules and regions: how many
  // there are, and those at whose code no operator was ever looked at. What runs in compiled graphs is not among them:
  // its operators are known from the graph.
  store::Table<std::optional<bool>, store::Site> site_looked_at;  // nothing: it is not among them
  std::uint64_t sites = 0, modules = 0, regions = 0;
  std::vector<store::SiteId> sites_not;
  std::vector<store::ModuleId> modules_not;
  std::vector<store::RegionId> regions_not;
};
LookedAt looked_at(const store::RunData&);

// Which steps were to be deep, as the run was told: "always", "never", "7" for every seventh; "automatic". The agent
// goes by the default where a setting is none of the known words, so these functions return that.
std::string deep_mode(const store::RunData&);
// Returns what --gpu or CASTSCOPE_GPU asked for: "auto", "on", "events" or "off".
std::string gpu_setting(const store::RunData&);

}  // namespace castscope::rules
