// What rules share when they say something.
#pragma once

#include <string>
#include <string_view>

#include "server/rules/rules.h"

namespace castscope::rules {

// A finding of the rule at the place, title, evidence and fix still to be filled in.
Finding finding_of(const Rule&, const store::RunData&, std::uint32_t stack);
std::string readable_bytes(std::uint64_t bytes);                  // "1.5 MB"
std::string counted(std::uint64_t n, std::string_view singular);  // "1 cast", "12 casts"

}  // namespace castscope::rules
