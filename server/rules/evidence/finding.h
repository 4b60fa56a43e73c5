// Texts and places that rules share when they write findings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "server/store/run/run_data.h"

namespace castscope::rules {

using Finding = store::Finding;

std::string readable_bytes(std::uint64_t bytes);                  // "1.5 MB"
std::string readable_number(double number);                       // "65536", "0.0625"
std::string counted(std::uint64_t n, std::string_view singular);  // "1 cast", "12 casts"

// Adds the user's line on this stack as a related place of the finding; does nothing for stack 0, which has none.
void add_related(Finding&, const store::RunData&, store::StackId stack);

}  // namespace castscope::rules
