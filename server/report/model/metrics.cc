#include "server/report/model/metrics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/report/text/words.h"
#include "server/store/run/step_numbers.h"

namespace castscope::report {
namespace {

using Json = nlohmann::ordered_json;

// How often each process told a metric of each name. While a process runs its counts are ahead of its events, and are
// left out.
std::map<std::pair<store::ProcessId, std::string>, std::uint64_t> told_by_job(const store::RunData& run) {
  std::map<std::pair<store::ProcessId, std::string>, std::uint64_t> told;
  for (const store::FactCount& count : run.fact_counts)
    if (const store::Fact& fact = run.facts[count.fact];
        fact.kind == lanes::FactKind::kMetric && run.processes[count.process].ended)
      told[{count.process, fact.text}] += count.times;
  return told;
}

bool is_from_scaler(const MetricTotal& one) {
  return one.metric != nullptr && one.metric->source == store::MetricSource::kGradScaler;
}

// 0 is what a reader wants to see first.
int how_telling(const MetricTotal& one) {
  if (one.metric != nullptr && one.metric->not_finite > 0) return 0;
  if (absl::StrContains(one.name, "loss")) return 1;
  return is_from_scaler(one) ? 2 : 3;
}

// JSON has no other numbers.
Json finite_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(); }

}  // namespace

std::vector<MetricTotal> metric_totals(const Model& model) {
  auto told = told_by_job(model.run);
  std::vector<MetricTotal> all;
  for (const store::Metric& metric : model.run.metrics) {
    MetricTotal total{.metric = &metric, .process = metric.process, .name = metric.name, .told = metric.values};
    if (metric.source == store::MetricSource::kJob)
      if (const auto counted = told.extract({metric.process, metric.name}); !counted.empty())
        total.told = std::max(total.told, counted.mapped());
    all.push_back(std::move(total));
  }
  for (const auto& [key, times] : told)
    all.push_back({.metric = nullptr, .process = key.first, .name = key.second, .told = times});
  const auto from_scaler = [](const MetricTotal& one) {
    return one.metric != nullptr && one.metric->source == store::MetricSource::kGradScaler;
  };
  std::ranges::stable_sort(
      all, {}, [&](const MetricTotal& one) { return std::pair(from_scaler(one), model.process_places[one.process]); });
  return all;
}

std::string metric_text(const Model& model, const MetricTotal& total) {
  if (total.metric == nullptr) return "no value arrived of " + grouped(total.told);
  const store::Metric& m = *total.metric;
  std::string text = real(m.first);
  const bool constant = m.not_finite == 0 && m.least == m.most;
  if (m.values > 1 && !constant) text += " to " + real(m.last);
  std::vector<std::string> more;
  if (m.not_finite > 0) {
    const std::uint64_t step = store::TrainingSteps(model.run).before(m.process, m.first_not_finite_step);
    more.push_back("not finite " + counted(m.not_finite, "time", "times") + ", first in step " + grouped(step));
  }
  const bool has_finite = m.not_finite < m.values;
  if (has_finite && m.least != m.first && m.least != m.last) more.push_back("lowest " + real(m.least));
  if (has_finite && m.most != m.first && m.most != m.last) more.push_back("highest " + real(m.most));
  if (total.missing() > 0) more.push_back(grouped(total.missing()) + " of " + grouped(total.told) + " did not arrive");
  if (more.empty()) return text;
  text += " (";
  for (std::size_t i = 0; i < more.size(); ++i) text += (i == 0 ? "" : ", ") + more[i];
  return text + ")";
}

std::string metrics_line(const Model& model, std::size_t most) {
  std::vector<MetricTotal> all = metric_totals(model);
  std::set<store::ProcessId> processes;
  for (const MetricTotal& total : all) processes.insert(total.process);
  if (!all.empty()) std::erase_if(all, [first = all.front().process](const auto& one) { return one.process != first; });
  std::ranges::stable_sort(all, {}, how_telling);
  std::string line;
  for (std::size_t i = 0; i < std::min(most, all.size()); ++i)
    absl::StrAppend(&line, line.empty() ? "" : "; ", all[i].name, " ", metric_text(model, all[i]));
  if (all.size() > most) absl::StrAppend(&line, "; and ", grouped(all.size() - most), " more");
  if (processes.size() > 1)
    absl::StrAppend(&line, "; ", counted(processes.size() - 1, "other process", "other processes"), " told some, too");
  return line;
}

Json metrics_json(const Model& model) {
  Json list = Json::array();
  for (const MetricTotal& total : metric_totals(model)) {
    static const store::Metric kNone{};
    const store::Metric& m = total.metric == nullptr ? kNone : *total.metric;
    const bool has_finite = m.not_finite < m.values;
    Json values = Json::array();
    for (const store::MetricValue& one : m.kept)
      values.push_back({{"step", one.step}, {"metric_value", finite_or_null(one.value)}});
    list.push_back({{"process", total.process},
                    {"metric_name", total.name},
                    {"metric_source", store::name(m.source)},
                    {"told_values", total.told},
                    {"missing_values", total.missing()},
                    {"not_finite_values", m.not_finite},
                    {"first_not_finite_step", m.not_finite > 0 ? Json(m.first_not_finite_step) : Json()},
                    {"first_value", m.values > 0 ? finite_or_null(m.first) : Json()},
                    {"last_value", m.values > 0 ? finite_or_null(m.last) : Json()},
                    {"least_value", has_finite ? Json(m.least) : Json()},
                    {"most_value", has_finite ? Json(m.most) : Json()},
                    {"kept_every", m.kept_every},
                    {"step_values", std::move(values)}});
  }
  return list;
}

}  // namespace castscope::report
