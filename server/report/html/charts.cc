#include "server/report/html/charts.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <utility>

#include "server/report/model/metrics.h"
#include "server/report/text/words.h"
#include "server/rules/evidence/finding.h"
#include "server/store/run/step_numbers.h"

namespace castscope::report {
namespace {

// Lengths are in the SVG's own units; the page scales it.
constexpr double kWidth = 480, kHeight = 170, kLeft = 80, kRight = 10, kTop = 10, kBottom = 22;
constexpr std::size_t kMostMetrics = 12;
constexpr std::size_t kColumns = 400;  // a reader cannot tell more points apart

std::string at(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string as_count(double value) { return grouped(static_cast<std::uint64_t>(std::llround(value))); }
std::string as_bytes(double value) { return rules::readable_bytes(static_cast<std::uint64_t>(std::llround(value))); }

// Keeps the highest value of each column, so that no peak is lost.
std::vector<Stretch> thinned(const std::vector<Stretch>& all) {
  if (all.size() <= kColumns) return all;
  const std::uint64_t begin = all.front().first, steps = all.back().last - begin + 1;
  std::vector<Stretch> columns;
  for (const Stretch& one : all) {
    const std::uint64_t column = (one.first - begin) * kColumns / steps;
    const std::uint64_t last = columns.empty() ? kColumns : (columns.back().first - begin) * kColumns / steps;
    if (!columns.empty() && column == last) {
      columns.back().last = one.last;
      columns.back().value = std::fmax(columns.back().value, one.value);
    } else {
      columns.push_back(one);
    }
  }
  return columns;
}

void label(Html& html, double x, double y, const char* anchor, const std::string& text) {
  html.leaf("text", text, {{"x", at(x)}, {"y", at(y)}, {"text-anchor", anchor}});
}

}  // namespace

double round_up(double value) {
  if (!(value > 0)) return 1;
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    if (factor * power >= value * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

namespace {

// The steps of the process that made the most of them, one value for each row of the run's steps.
template <typename Value>
std::optional<Series> series_of_steps(const Model& model, const std::string& title, Value value) {
  std::map<store::ProcessId, std::uint64_t> steps;  // by process
  const std::vector<store::NumberedRun> numbered = store::numbered_runs(model.run);
  for (std::size_t i = 0; i < numbered.size(); ++i) steps[model.run.step_runs[i].process] += numbered[i].training;
  const auto most =
      std::max_element(steps.begin(), steps.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == steps.end() || most->second < 2) return std::nullopt;
  std::string who;
  if (steps.size() > 1) {
    const store::Process& process = model.run.processes[most->first];
    const std::string rank = process.attribute("rank");
    who = rank.empty() ? ", process " + std::to_string(process.info.pid) : ", rank " + rank;
  }
  Series series{.title = title + who, .stretches = {}, .label = nullptr};
  for (std::size_t i = 0; i < numbered.size(); ++i) {
    const store::StepRun& run = model.run.step_runs[i];
    if (run.process != most->first || numbered[i].training == 0) continue;
    const std::uint64_t first = numbered[i].first_number, last = first + numbered[i].training - 1;
    series.stretches.push_back({first, last, value(run)});
  }
  return series;
}

}  // namespace

std::optional<Series> cast_series(const Model& model) {
  std::optional<Series> casts = series_of_steps(
      model, "Casts per step, autocast's and others",
      [](const store::StepRun& run) { return static_cast<double>(run.casts) / static_cast<double>(run.length()); });
  if (casts) casts->label = real;
  return casts;
}

std::optional<Series> cache_series(const Model& model) {
  if (model.totals.cache.cache_peak_bytes == 0) return std::nullopt;
  std::optional<Series> cache = series_of_steps(model, "Cache bytes per step, at most", [](const store::StepRun& run) {
    return static_cast<double>(run.cache_bytes);
  });
  if (cache) cache->label = as_bytes;
  return cache;
}

std::vector<Series> metric_series(const Model& model) {
  std::vector<Series> all;
  const std::vector<MetricTotal> totals = metric_totals(model);
  const store::TrainingSteps steps(model.run);
  for (const MetricTotal& total : totals) {
    if (total.process != totals.front().process || total.metric == nullptr || all.size() == kMostMetrics) continue;
    Series series{.title = total.name + ": " + metric_text(model, total), .stretches = {}, .label = real};
    for (const store::MetricValue& one : total.metric->kept) {
      const std::uint64_t step = steps.before(total.process, one.step);
      std::vector<Stretch>& told = series.stretches;
      if (!told.empty()) told.back().last = std::max(told.back().first, step - std::min<std::uint64_t>(step, 1));
      told.push_back({step, step, std::isfinite(one.value) ? one.value : std::nan("")});
    }
    if (series.stretches.size() > 1) all.push_back(std::move(series));
  }
  return all;
}

namespace {

// The SVG paths that draw a series. A step without a value interrupts both.
struct Paths {
  std::string curve, area;
};

template <typename X, typename Y>
Paths paths_of(const std::vector<Stretch>& stretches, X x, Y y) {
  Paths paths;
  bool down = false;  // the pen
  for (const Stretch& one : stretches) {
    const bool was_down = std::exchange(down, std::isfinite(one.value));
    if (was_down && !down) paths.area += "V" + at(y(0)) + "Z";
    if (!down) continue;
    const std::string from = at(x(one.first)), height = at(y(one.value)), to = at(x(one.last + 1));
    paths.curve += (was_down ? "L" : "M") + from + " " + height + "H" + to;
    paths.area += (was_down ? "V" + height : "M" + from + " " + at(y(0)) + "V" + height) + "H" + to;
  }
  if (down) paths.area += "V" + at(y(0)) + "Z";
  return paths;
}

}  // namespace

void draw(Html& html, const Series& series) {
  const std::vector<Stretch> stretches = thinned(series.stretches);
  double most = -HUGE_VAL, least = HUGE_VAL;
  for (const Stretch& one : stretches) most = std::fmax(most, one.value), least = std::fmin(least, one.value);
  const double top = most > 0 || least >= 0 ? round_up(most) : 0, bottom = least < 0 ? -round_up(-least) : 0;
  const auto begin = static_cast<double>(stretches.front().first), end = static_cast<double>(stretches.back().last + 1);
  const auto x = [&](std::uint64_t step) {
    return kLeft + (static_cast<double>(step) - begin) / (end - begin) * (kWidth - kLeft - kRight);
  };
  const auto y = [&](double value) {
    return kHeight - kBottom - (value - bottom) / (top - bottom) * (kHeight - kTop - kBottom);
  };
  const auto figure = html.element("figure");
  html.leaf("figcaption", series.title);
  if (!std::isfinite(most) || !std::isfinite(top - bottom)) return;  // no value, or larger ones than can be drawn
  const Paths paths = paths_of(stretches, x, y);
  const std::string spoken =
      series.title + ", steps " + as_count(begin) + " to " + as_count(end - 1) + ": at most " + series.label(most);
  const auto svg = html.element(
      "svg", {{"viewBox", "0 0 " + at(kWidth) + " " + at(kHeight)}, {"role", "img"}, {"aria-label", spoken}});
  for (const double value : {bottom, (bottom + top) / 2, top}) {
    html.leaf("path", "", {{"class", "grid"}, {"d", "M" + at(kLeft) + " " + at(y(value)) + "H" + at(kWidth - kRight)}});
    label(html, kLeft - 6, y(value) + 4, "end", series.label(value));
  }
  label(html, kLeft, kHeight - 6, "start", "step " + as_count(begin));
  label(html, kWidth - kRight, kHeight - 6, "end", as_count(end - 1));
  html.leaf("path", "", {{"class", "area"}, {"d", paths.area}});
  html.leaf("path", "", {{"class", "curve"}, {"d", paths.curve}});
}

void draw_share(Html& html, double share) {
  const auto svg = html.element("svg", {{"viewBox", "0 0 100 8"}, {"aria-hidden", "true"}});
  html.leaf("rect", "", {{"class", "rest"}, {"width", "100"}, {"height", "8"}, {"rx", "2"}});
  constexpr double kSeen = 0.02;  // what is less would look like nothing
  html.leaf("rect", "",
            {{"class", "bar"},
             {"width", share > 0 ? at(100 * std::clamp(share, kSeen, 1.0)) : "0"},
             {"height", "8"},
             {"rx", "2"}});
}

}  // namespace castscope::report
