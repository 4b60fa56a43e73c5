// JSON that people can read and that stays small: members of objects are indented, each on a line of its own; each
// element of a list stands on one line, without blanks inside of it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace castscope::report {

// With a newline at the end. Bytes that are no UTF-8 become U+FFFD.
std::string json_rows(const nlohmann::ordered_json&);

}  // namespace castscope::report
