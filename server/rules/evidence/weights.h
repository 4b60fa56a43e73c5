// What weights are called in findings.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "server/store/run/run_data.h"

namespace castscope::rules {

// "encoder.0.weight", "Linear.bias of Net#2": module and argument, as far as they are known.
std::string weight_name(const store::RunData&, const store::Site&);

// "encoder.0"; the class of an outermost module; "" without one.
std::string module_name(const store::RunData&, const store::Site&);

// The one to speak of: a "….weight" rather than a bias. Of one or more.
const std::string& first_of(const std::set<std::string>& weights);
// "fc.weight is", "fc.weight and 3 other weights are".
std::string subject_of(const std::set<std::string>& weights);
// … where several may have one name: so many in all; 0: nobody knows ("fc.weight and others are").
std::string subject_of(const std::set<std::string>& weights, std::uint64_t number);

// Why no copy of a weight is kept, in words: "no grad required", "the cache is switched off"; "" of kNone.
std::string why_not_kept(lanes::WhyNotCached);

}  // namespace castscope::rules
