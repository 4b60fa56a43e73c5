// What rules share when they say something.
#pragma once

#include <string>
#include <string_view>

#include "server/rules/rules.h"

namespace castscope::rules {

std::string readable_bytes(std::uint64_t bytes);                  // "1.5 MB"
std::string counted(std::uint64_t n, std::string_view singular);  // "1 cast", "12 casts"

}  // namespace castscope::rules
