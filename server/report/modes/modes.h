// Where one line of code ran in more than one mode: what its operators computed in, in each. Of code that runs in
// Python or in TorchScript deep steps saw it; of a compiled graph it is known for matrix products, convolutions and
// attention, which no decomposition takes apart.
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

// By place; those that ran in one mode alone are left out.
std::vector<ModeRow> mode_rows(const store::RunData&);
// docs/report.schema.json, `modes`.
nlohmann::ordered_json modes_json(const store::RunData&);
// "bfloat16, float32", "" for none.
std::string dtype_list(const std::set<std::uint8_t>&);

}  // namespace castscope::report
