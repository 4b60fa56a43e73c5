// Reports of format 1, which castscope wrote before names were the same in every form (docs/decisions/names.md).
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace castscope::report {

// Returns what an account is made of, as a report of format 2 has it. What is missing or of the wrong type stays so.
nlohmann::ordered_json from_format_1(const nlohmann::ordered_json& report);

}  // namespace castscope::report
