// Finds operators that bring integers to a half in which neighbours become equal.
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "server/rules/evidence/operators/use_graph.h"
#include "server/store/run/run_data.h"

namespace castscope::rules {

// How integers came to be in a half.
enum class IntegersAs : std::uint8_t {
  kCast,       // autocast casts a float tensor that holds them
  kPromoted,   // the operator took them together with a half, whose dtype they got
  kConverted,  // the code converts them
  kCounted,    // the operator counts in a half (arange, linspace, cumsum)
};

// Returns how the site or the use, of which `range` is the sample, brings integers to a half that does not hold them;
// nothing where it does not. Neither masks are positions, nor what is only a measure (a mean over so many, samples
// that are normalised).
std::optional<IntegersAs> rounds_integers(const store::RunData&, const UseGraph&, const store::ValueRange& range);

// Returns all operator uses of a run that do, conversions among them.
std::set<store::OperatorUseId> uses_that_round_integers(const store::RunData&, const UseGraph&);

}  // namespace castscope::rules
