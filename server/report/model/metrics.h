// Numbers of a run's steps: those that the job told by castscope.metric, and the scale of gradients.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "server/report/model/model.h"

namespace castscope::report {

struct MetricTotal {
  const store::Metric* metric = nullptr;  // nullptr: none of its values arrived
  store::ProcessId process = {};
  std::string name;
  std::uint64_t told = 0;  // how often the job told one
  std::uint64_t missing() const { return metric == nullptr ? told : told - metric->values; }
};
// Those of the job come first, each kind by process and in the order in which they were first told.
std::vector<MetricTotal> metric_totals(const Model&);

// "2.31 to 0.118 (lowest 0.11)", "2.31 to NaN (not finite 3 times, first in step 17)"; of one that never changed:
// "65,536"
std::string metric_text(const Model&, const MetricTotal&);
// "loss 2.31 to 0.118; gradient scale 65,536 to 32,768": of the first process that has any; "" without one. What was
// not finite comes first, then the loss, then the scale. At most so many are told; others are counted.
std::string metrics_line(const Model&, std::size_t most = 3);

// docs/report.schema.json, `metrics`.
nlohmann::ordered_json metrics_json(const Model&);

}  // namespace castscope::report
