// The dtypes that operators with weights computed in, place by place, as deep steps saw them. With these rows two runs
// of one model can be compared (a trainer and an inference engine).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "server/store/run/run_data.h"

namespace castscope::report {

struct PrecisionRow {
  store::CodeLocation at;  // file "" = no Python line
  std::string model, module, op, computed;
  bool grad_mode = false;
  std::uint64_t calls = 0;  // in deep steps
};

// Ordered by place.
std::vector<PrecisionRow> precision_rows(const store::RunData&);
// docs/report.schema.json, `weight_products`: the same rows.
nlohmann::ordered_json precision_json(const store::RunData&);

}  // namespace castscope::report
