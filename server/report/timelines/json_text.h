// Part of a trace that is written piece by piece, as JSON on one line. Bytes that are not UTF-8 are replaced.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace castscope::report {

inline std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace castscope::report
