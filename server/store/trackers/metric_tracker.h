// Collects the numbers that a process has for its steps, and says what a run file must be told of them. A long series
// is thinned: then every second step keeps its value, every fourth, and so on.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "server/store/run/metric_data.h"

namespace castscope::store {

class MetricTracker {
 public:
  // Further names are passed over.
  static constexpr std::size_t kMostMetrics = 1000;
  // A series of more values than this is thinned.
  static constexpr std::size_t kMostValues = 1 << 14;

  void adopt(const Metric&);  // of an earlier life of the file
  void value(MetricSource, const std::string& name, std::uint32_t step, double value);

  struct Changes {
    std::function<void(const Metric&)> put;                     // without its values
    std::function<void(const Metric&, MetricValue)> put_value;  // it replaces another one of the same step
    std::function<std::size_t(const Metric&)> thin;             // to kept_every; returns how many are left
  };
  // Tells what has changed since the last time.
  void take(const Changes&);

 private:
  struct Series {
    Metric metric;
    std::map<std::uint32_t, double> fresh;  // values since the last take(), by step
    std::size_t kept = 0;                   // values in the file, or more where a step had several
    bool changed = false;
  };
  std::map<std::pair<MetricSource, std::string>, Series> all_;
};

}  // namespace castscope::store
