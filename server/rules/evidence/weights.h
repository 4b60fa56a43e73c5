// Names weights for findings.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "server/store/run/run_data.h"

namespace castscope::rules {

// Returns "encoder.0.weight", "Linear.bias of Net#2": module and argument, as far as they are known.
std::string weight_name(const store::RunData&, const store::Site&);

// Returns "encoder.0"; the class of an outermost module; "" without one.
std::string module_name(const store::RunData&, const store::Site&);

// Returns the name to mention: a "….weight" rather than a bias. `weights` must not be empty.
const std::string& first_of(const std::set<std::string>& weights);
// Returns "fc.weight is", "fc.weight and 3 other weights are".
std::string subject_of(const std::set<std::string>& weights);
// Does the same for the name to mention, where several may have one name: `number` counts them all; 0: not known
// ("fc.weight and others are").
std::string subject_of(const std::string& first, std::uint64_t number, std::string_view other = "other weight");

// Says why no copy of a weight is kept: "frozen weight", "the cache is switched off"; "" for kNone.
std::string why_not_kept(lanes::WhyNotCached);

}  // namespace castscope::rules
