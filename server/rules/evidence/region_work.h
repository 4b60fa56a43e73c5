// Answers questions about regions and the operators that ran in them, or in none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/store/run/causes.h"
#include "server/store/run/run_data.h"

namespace castscope::rules {

// An operator that autocast would have cast down computed in float32.
bool is_uncast_work(const store::OperatorUse&);

// Returns the innermost region that has autocast on for its device, from this one outwards: one of the same device
// within it may have it off. nullptr when there is none.
const store::Region* enabled_for_any_device(const store::RunData&, store::RegionId region);
// Other regions around this one, or within it, have autocast on.
bool has_enabled_beside(const store::RunData&, const store::Region&);
// Returns whether autocast makes a cast of this cause, or a compiled graph or a recurrent layer that packs its weights
// anew makes it in autocast's place.
constexpr bool is_work_of_autocast(lanes::Cause cause) {
  return store::is_autocasts(cause) || cause == lanes::Cause::kCompiled || cause == lanes::Cause::kReflatten;
}
// Returns for each region, by id, whether anything of its own device went through autocast's kernels, in it or within:
// cast or not. These are counted in every step, not in deep ones alone.
store::Table<bool, store::Region> regions_with_casts(const store::RunData&);

// Returns for each region, by id, whether all operators seen in it, or within, work on other devices than its own: it
// does nothing (region-wrong-device).
store::Table<bool, store::Region> regions_of_wrong_device(const store::RunData&);

// The fact says that a region was left, but that its object had been entered again within it (kRegionNeverLeft).
bool was_entered_again(const store::Fact&);
// Returns for each region, by id, whether nobody asked for it: autocast stayed on after such a region
// (region-never-closed).
store::Table<bool, store::Region> regions_left_on(const store::RunData&);

// Returns the frame that opens the region, when that is the user's own code: the first frame that is not PyTorch's
// autocast itself.
std::optional<store::CodeLocation> opening_frame(const store::RunData&, const store::Region&);

// Counts over all processes.
struct Stays {
  std::uint64_t entered = 0, exited = 0, most_optimizer_steps = 0;
  std::uint64_t clears_within = 0, old_hits = 0;  // store::RegionUse
};
Stays stays_in(const store::RunData&, store::RegionId region);
// One stay in the region holds at least `steps` optimizer steps, with the cache on.
bool spans_steps(const store::RunData&, const store::Region&, std::uint64_t steps);

// Returns "bfloat16 autocast for cpu".
std::string region_text(const store::Region&);
// Returns the names of operators, each once, in the order given: "aten::linear, aten::mm and 3 others".
std::string operators_text(const std::vector<const store::OperatorUse*>&);

}  // namespace castscope::rules
