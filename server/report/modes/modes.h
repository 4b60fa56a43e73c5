// Rows for lines of code that ran in more than one mode, with the dtypes that their operators computed in, by mode.
// Deep steps see code that runs in Python or in TorchScript; for a compiled graph the dtypes of matrix products,
// convolutions and attention are known, since no decomposition takes those apart.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "server/rules/evidence/operators/mode_of.h"
#include "server/store/run/run_data.h"

namespace castscope::report {

struct ModeRow {
  store::CodeLocation location;
  std::string work;                                                       // "linear"
  std::array<std::set<std::uint8_t>, rules::kModeNames.size()> computed;  // dtypes; none: it did not run in that mode
  bool compiled_differs = false;  // from eager code, in regions of the same dtype
  bool differs() const;           // from eager code, or between two other modes
};

// Returns rows by place; lines that ran in only one mode are left out.
std::vector<ModeRow> mode_rows(const store::RunData&);
// docs/report.schema.json, `operators_by_mode`.
nlohmann::ordered_json operators_by_mode_json(const store::RunData&);
// "bfloat16, float32", "" for none.
std::string dtype_list(const std::set<std::uint8_t>&);

}  // namespace castscope::report
