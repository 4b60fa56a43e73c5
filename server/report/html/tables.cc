#include <algorithm>

#include "server/report/html/charts.h"
#include "server/report/html/parts.h"
#include "server/report/html/table.h"
#include "server/report/model/costliest.h"
#include "server/report/text/words.h"
#include "server/rules/evidence/finding.h"
#include "server/store/run/names.h"

namespace castscope::report {
namespace {

constexpr std::size_t kCosts = 12, kSites = 300, kRegions = 200, kProcesses = 256;

// Adds up the counts of all sites and causes: the total of the table of sites.
store::Counts at_sites(const Model& model) {
  store::Counts all;
  for (const SiteTotal& total : model.sites) all += total.counts;
  return all;
}

void write_costs(Html& html, const Model& model) {
  const Costs found = costliest(model);
  const std::vector<Cost>& costs = found.all;
  if (costs.empty()) return;
  html.leaf("h2", found.by_bytes ? "Where the casts are" : "Where the casts' time goes");
  html.leaf("p",
            found.by_bytes
                ? "Shares of the bytes of all casts: casts in compiled graphs are not timed."
                : "Shares of " + duration(found.told_ns) + ": the CPU time of all casts, autocast's and others" +
                      (found.without_first ? ", without the first of each place, which sets things up." : "."),
            {{"class", "soft"}});
  const auto table = html.element("table");
  for (std::size_t i = 0; i < std::min(costs.size(), kCosts); ++i) {
    const auto row = html.element("tr");
    html.leaf("td", percent(costs[i].share), {{"class", "number"}});
    {
      const auto bar = html.element("td", {{"class", "bar"}});
      draw_share(html, costs[i].share);
    }
    const auto cell = html.element("td");
    html.leaf("code", place_of(model, costs[i]));
    html.text(" " + description(model, costs[i]));
  }
}

}  // namespace

void write_charts(Html& html, const Model& model) {
  std::vector<Series> all = step_series(model);
  for (Series& series : metric_series(model)) all.push_back(std::move(series));
  if (!all.empty()) {
    html.leaf("h2", "Step by step");
    const auto charts = html.element("div", {{"class", "charts"}});
    for (const Series& series : all) draw(html, series);
  }
  write_costs(html, model);
}

void write_sites(Html& html, const Model& model) {
  if (model.sites.empty()) return;
  html.leaf("h2", "Sites");
  const store::Counts all = at_sites(model);
  html.leaf("p",
            "Casts of every cause: " + counted(all.casts, "cast", "casts") + " in " + duration(all.cpu_ns) +
                " of CPU time, " + grouped(model.totals.others.casts) + " of them (" +
                duration(model.totals.others.cpu_ns) + ") not by autocast" +
                (model.totals.compiled.casts == 0
                     ? "."
                     : ", " + grouped(model.totals.compiled.casts) + " in compiled graphs, which are not timed."),
            {{"class", "soft"}});
  {
    std::vector<Table::Column> columns = {{"where"},       {"module"},        {"operator"},    {"from, to"},
                                          {"role"},        {"not kept"},      {"casts", true}, {"hits", true},
                                          {"bytes", true}, {"CPU time", true}};
    if (model.gpu.timed()) columns.push_back({"GPU time", true});
    const bool by_events = model.gpu.by_events.casts.launches > 0;
    if (by_events) columns.push_back({"GPU time at most, by CUDA events", true});
    Table table(html, std::move(columns));
    for (std::size_t i = 0; i < std::min(model.sites.size(), kSites); ++i) {
      const SiteTotal& total = model.sites[i];
      const store::Site& site = model.run.sites[total.site];
      const store::Module* const module = model.module_of(site);
      const std::string argument = argument_words(model.run, site);
      const std::string name = module == nullptr ? "" : module->path.empty() ? module->model() : module->path;
      std::vector<std::string> cells = {
          place(model.run, model.run.user_location(site.stack)),
          name,
          operator_of(site) + (argument.empty() ? "" : " " + argument),
          std::string(store::dtype_name(site.from)) + " to " + std::string(store::dtype_name(site.to)),
          site.role == lanes::Role::kUnknown ? "" : std::string(store::name(site.role)),
          why_not_kept(reason_not_kept(site), site.role),
          grouped(total.counts.casts),
          grouped(total.counts.hits),
          rules::readable_bytes(total.counts.bytes),
          duration(total.counts.cpu_ns)};
      if (model.gpu.timed()) cells.push_back(duration(model.gpu.sites[site.id].ns));
      if (by_events) cells.push_back(duration(model.gpu.by_events.sites[site.id].ns));
      table.row(cells);
    }
  }
  write_rest(html, model.sites.size(), kSites, "CSV");
}

void write_regions(Html& html, const Model& model) {
  if (model.run.regions.empty()) return;
  html.leaf("h2", "Autocast regions");
  {
    Table table(html, {{"where"},
                       {"device"},
                       {"dtype"},
                       {"state"},
                       {"entered", true},
                       {"casts by autocast", true},
                       {"hits", true},
                       {"cache at most", true}});
    for (const store::Region& region : model.run.regions | std::views::take(kRegions)) {
      const RegionTotal& total = model.regions[region.id];
      std::string state = region.enabled ? "on" : "off";
      if (region.enabled && !region.cache_enabled) state += ", no cache";
      if (region.parent != 0) state += ", nested";
      if (region.kind == lanes::RegionKind::kRaw) state += ", raw switch";
      table.row({place(model.run, model.run.user_location(region.stack)),
                 std::string(store::device_name(region.device)), std::string(store::dtype_name(region.dtype)), state,
                 grouped(total.entered), grouped(total.counts.casts), grouped(total.counts.hits),
                 rules::readable_bytes(total.most_bytes)});
    }
  }
  write_rest(html, model.run.regions.size(), kRegions, "JSON");
}

void write_processes(Html& html, const Model& model) {
  if (model.run.processes.empty()) return;
  html.leaf("h2", "Processes");
  {
    Table table(html, {{"process", true},
                       {"rank", true},
                       {"host"},
                       {"end"},
                       {"casts by autocast", true},
                       {"hits", true},
                       {"CPU time of these", true},
                       {"cache at most", true},
                       {"events", true},
                       {"dropped", true}});
    for (const store::ProcessId id : model.process_order | std::views::take(kProcesses)) {
      const store::Process& process = model.run.processes[id];
      const ProcessTotal& total = model.processes[process.id];
      std::string end = process.ended ? std::string(store::name(process.end)) : "runs";
      if (process.exit_status >= 0) end += ", status " + std::to_string(process.exit_status);
      table.row({std::to_string(process.info.pid), process.attribute("rank"), process.info.host, end,
                 grouped(total.counts.casts), grouped(total.counts.hits), duration(total.counts.cpu_ns),
                 rules::readable_bytes(process.gauges.cache_peak_bytes), grouped(total.received),
                 grouped(total.dropped)});
    }
  }
  write_rest(html, model.run.processes.size(), kProcesses, "JSON");
}

}  // namespace castscope::report
