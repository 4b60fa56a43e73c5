// What operators with weights computed in, place by place, as deep steps saw it: so that two runs of one model can be
// held against each other (a trainer and an inference engine).
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
// docs/report.schema.json, `precision`: the same.
nlohmann::ordered_json precision_json(const store::RunData&);

}  // namespace castscope::report
