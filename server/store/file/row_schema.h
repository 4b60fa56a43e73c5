// The tables of definitions that say what their columns are (run/row_definitions.h), and of how often each was seen.
#pragma once

#include <string>

namespace castscope::store {

std::string row_tables();  // SQL that creates them

}  // namespace castscope::store
