#include "server/store/trackers/metric_tracker.h"

#include <algorithm>
#include <cmath>

namespace castscope::store {
namespace {

void add(Metric& metric, std::uint32_t step, double value) {
  const std::uint64_t finite = metric.values - metric.not_finite;
  if (metric.values++ == 0) metric.first = value, metric.first_step = step;
  metric.last = value;
  if (!std::isfinite(value)) {
    if (metric.not_finite++ == 0) metric.first_not_finite_step = step;
    return;
  }
  metric.least = finite == 0 ? value : std::min(metric.least, value);
  metric.most = finite == 0 ? value : std::max(metric.most, value);
}

}  // namespace

void MetricTracker::adopt(const Metric& metric) {
  Series& series = all_[{metric.source, metric.name}];
  series.metric = metric;
  series.kept = metric.kept.size();
  series.metric.kept.clear();
}

void MetricTracker::value(MetricSource source, const std::string& name, std::uint32_t step, double value) {
  const std::pair key(source, name);
  auto known = all_.find(key);
  if (known == all_.end()) {
    if (all_.size() >= kMostMetrics) return;
    known = all_.try_emplace(key).first;
    Metric& metric = known->second.metric;
    metric.number = static_cast<std::uint32_t>(all_.size());
    metric.name = name;
    metric.source = source;
  }
  Series& series = known->second;
  series.changed = true;
  add(series.metric, step, value);
  if ((step - series.metric.first_step) % series.metric.kept_every == 0) series.fresh[step] = value;
}

void MetricTracker::take(const Changes& changes) {
  for (auto& [key, series] : all_) {
    if (!series.changed) continue;
    series.changed = false;
    for (const auto& [step, value] : series.fresh) changes.put_value(series.metric, {step, value});
    series.kept += series.fresh.size();
    series.fresh.clear();
    while (series.kept > kMostValues) {
      const std::size_t left = changes.thin(series.metric);  // it may be fewer than were counted
      series.kept = left;
      if (left > kMostValues) series.metric.kept_every *= 2;
    }
    changes.put(series.metric);
  }
}

}  // namespace castscope::store
