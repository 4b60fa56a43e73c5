// Questions about regions and what was seen to run in them, and in none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/rules/rules.h"

namespace castscope::rules {

// A product of matrices, a convolution, attention, a recurrent cell: what autocast is there for. Other operators that
// it casts (concatenations, losses) are as good without.
bool is_matrix_work(std::string_view op);
// In float32, by an operator that autocast would have cast down.
bool is_uncast_work(const store::OperatorUse&);

// Whether `inner` is `outer`, or lies in it.
bool is_within(const store::RunData&, std::uint32_t inner, std::uint32_t outer);
// The innermost region of this device, from this one outwards; 0 = none.
std::uint32_t region_of_device(const store::RunData&, std::uint32_t region, std::uint8_t device);
// The innermost region that has autocast on for its device, from this one outwards: one of the same device within it
// may have it off. 0 = none.
std::uint32_t enabled_region(const store::RunData&, std::uint32_t region);
// Other regions that have autocast on around this one, or within.
bool has_enabled_beside(const store::RunData&, const store::Region&);
// For each region, by id, whether something of its own device went through autocast's kernels, in it or within: cast or
// not. Counted in every step, not in deep ones alone.
std::vector<bool> regions_with_casts(const store::RunData&);

// The frame that opens it, when that is the user's own code: the first one that is not PyTorch's autocast itself.
std::optional<store::CodeLocation> opening_frame(const store::RunData&, const store::Region&);

// How often, in all processes.
struct Stays {
  std::uint64_t entered = 0, exited = 0, most_optimizer_steps = 0;
};
Stays stays_in(const store::RunData&, std::uint32_t region);
// That a region holds so many optimizer steps makes it one around a loop.
inline constexpr std::uint64_t kStepsOfALoop = 2;
bool spans_steps(const store::RunData&, const store::Region&, std::uint64_t steps);

// How often each was seen, in all processes; by id.
std::vector<std::uint64_t> times_of_uses(const store::RunData&);
std::vector<std::uint64_t> times_of_facts(const store::RunData&);

// The processes that each region was entered in, or each operator use seen in, by id and ascending. What stands in a
// region, or beside it, does so in one process.
using Processes = std::vector<std::uint32_t>;
std::vector<Processes> processes_of_regions(const store::RunData&);
std::vector<Processes> processes_of_uses(const store::RunData&);
bool share_one(const Processes&, const Processes&);

// What is at one place is one finding.
using FilePlace = std::pair<std::string, std::int64_t>;
FilePlace place_of(const store::RunData&, std::uint32_t stack);
std::string place_text(const store::RunData&, std::uint32_t stack);  // "train.py:12"

// "bfloat16 autocast for cpu"
std::string region_text(const store::Region&);
// The names of operators, each once, in the order given: "aten::linear, aten::mm and 3 others".
std::string operators_text(const std::vector<const store::OperatorUse*>&);

}  // namespace castscope::rules
