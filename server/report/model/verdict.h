// The first sentence of what people read about a run: how much of a step casts take, how many findings there are, and
// which of them is worth a change today.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "server/report/model/costliest.h"
#include "server/report/model/model.h"

namespace castscope::report {

// A finding is worth mending if something is wrong or likely wrong (error, warning), or if mending it saves so much of
// a step.
inline constexpr double kWorthMending = 0.02;
bool is_worth_mending(const rules::Finding&);

// Returns the places in Model::findings: errors, warnings (those that may change results first), then by what they
// save, at last what is only worth knowing.
std::vector<std::size_t> by_worth(const Model&);

// Returns the lines that a finding stands at, the user's own first: nobody changes a library.
std::vector<store::CodeLocation> places_of(const rules::Finding&);
std::optional<store::CodeLocation> first_place_of(const rules::Finding&);

// "1.2 %"; percent() rounds to whole ones.
std::string exact_percent(double share);

// "Casts take 1.2 % of the step. 2 findings, 1 worth mending today: train.py:41". Where nothing was cast, its first
// sentence says so and why.
std::string verdict(const Model&, const Costs&);

}  // namespace castscope::report
