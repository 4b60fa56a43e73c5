// The names of what processes say of themselves. Those of older agents are taken for the present ones.
#pragma once

#include <string>
#include <string_view>

namespace castscope::ingest {

std::string present_name(std::string_view name, std::string_view value);

}  // namespace castscope::ingest
