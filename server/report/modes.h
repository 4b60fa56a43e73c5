// Where one line of code ran in more than one mode: what its operators computed in, in each. Of eager code and of
// TorchScript deep steps saw it; of a compiled graph it is known for matrix products, convolutions and attention, which
// no decomposition takes apart.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "server/store/run_data.h"

namespace castscope::report {

inline constexpr std::array<std::string_view, 3> kModes = {"eager", "torchscript", "compiled"};

struct ModeRow {
  store::CodeLocation location;
  std::string work;                                            // "linear"
  std::array<std::set<std::uint8_t>, kModes.size()> computed;  // dtypes; none: it did not run in that mode
  bool compiled_differs = false;                               // from eager code, in regions of the same dtype
  bool differs() const;                                        // between two modes that it ran in
};

// By place; those that ran in one mode alone are left out.
std::vector<ModeRow> mode_rows(const store::RunData&);
// docs/report.schema.json, `modes`.
nlohmann::ordered_json modes_json(const store::RunData&);
// "bfloat16, float32", "" for none.
std::string dtype_list(const std::set<std::uint8_t>&);

}  // namespace castscope::report
