// The results of a SARIF log: what was found, what was silenced, and what is gone since the baseline.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

#include "server/report/findings/since_baseline.h"
#include "server/report/model/model.h"

namespace castscope::report {

inline constexpr std::size_t kMostSarifResults = 25'000;  // with more GitHub refuses the file; errors come first
inline constexpr std::size_t kMostSarifRelated = 99;      // beside the finding's own place

struct SarifResults {
  nlohmann::ordered_json list;
  std::size_t left_out = 0;  // beyond what code scanning takes
};
SarifResults sarif_results(const Model&, const SinceBaseline* baseline);

const char* sarif_level(std::string_view severity);

}  // namespace castscope::report
