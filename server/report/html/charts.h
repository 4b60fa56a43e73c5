// Charts of the page, as inline SVG: no script, readable in print and aloud.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/report/model/model.h"
#include "server/report/text/html_writer.h"

namespace castscope::report {

// One value for each step; steps `first` to `last` all have this value.
struct Stretch {
  std::uint64_t first = 0, last = 0;
  double value = 0;  // NaN: none that can be drawn
};
struct Series {
  std::string title;               // "cache bytes per step"
  std::vector<Stretch> stretches;  // in order
  std::string (*label)(double);    // of a value at the axis
};

// Returns the numbers that the first process told of its steps, and its scale of gradients; each is kept until the next
// one is told. Of a long series, those that the run file keeps.
std::vector<Series> metric_series(const Model&);
// Return casts per step and the bytes that the cache held in each step, of the process that made the most steps;
// nothing where there is only one step, or nothing was ever in the cache.
std::optional<Series> cast_series(const Model&);
std::optional<Series> cache_series(const Model&);
void draw(Html&, const Series&);
void draw_share(Html&, double share);  // a bar that is filled to this share

// Returns a round number not below `value`: 1, 2 or 5 times a power of ten.
double round_up(double value);

}  // namespace castscope::report
