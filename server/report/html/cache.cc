// The sections of the page that show what changed from step to step: the cache, counts, numbers that the job told.
#include "server/report/html/charts.h"
#include "server/report/html/parts.h"
#include "server/report/model/roles.h"
#include "server/report/text/words.h"

namespace castscope::report {

void write_cache(Page& page, const Model& model) {
  const std::string held = cache_line(model);
  if (held.empty() && model.totals.autocast.casts == 0) return;
  const Section section(page, "cache", "The cache");
  page.html.leaf("p", held.empty() ? "Nothing was ever kept in it."
                                   : "It held " + held + ". " +
                                         (model.totals.autocast.hits == 0
                                              ? "Nothing was"
                                              : counted(model.totals.autocast.hits, "argument was", "arguments were")) +
                                         " served from it.");
  if (const std::string not_kept = not_kept_line(model.roles); !not_kept.empty())
    page.html.leaf("p", "Not kept: " + not_kept + ".");
  const std::optional<Series> series = cache_series(model);
  if (!series) return;
  const auto charts = page.html.element("div", {{"class", "charts"}});
  draw(page.html, *series);
}

void write_charts(Page& page, const Model& model) {
  std::vector<Series> all = metric_series(model);
  if (std::optional<Series> casts = cast_series(model)) all.insert(all.begin(), *std::move(casts));
  if (all.empty()) return;
  const Section section(page, "steps", "Step by step");
  const auto charts = page.html.element("div", {{"class", "charts"}});
  for (const Series& series : all) draw(page.html, series);
}

}  // namespace castscope::report
