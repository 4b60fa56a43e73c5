#include <algorithm>
#include <numeric>
#include <ranges>

#include "absl/strings/str_cat.h"
#include "server/report/html/charts.h"
#include "server/report/html/page_text.h"
#include "server/report/html/parts.h"
#include "server/report/html/table.h"
#include "server/report/model/costliest.h"
#include "server/report/text/breakable.h"
#include "server/report/text/words.h"
#include "server/rules/evidence/finding.h"
#include "server/store/run/names.h"

namespace castscope::report {
namespace {

constexpr std::size_t kCosts = 12;

// Adds up the counts of all sites and causes: the total of the table of sites.
store::Counts at_sites(const Model& model) {
  store::Counts all;
  for (const SiteTotal& total : model.sites) all += total.counts;
  return all;
}

// Sites in the order of what they cost, as Costs count it.
std::vector<const SiteTotal*> sites_by_cost(const Model& model, const Costs& costs) {
  std::vector<const SiteTotal*> sites;
  for (const SiteTotal& total : model.sites) sites.push_back(&total);
  std::ranges::stable_sort(sites, std::greater(), [&](const SiteTotal* total) {
    if (costs.by_bytes) return std::pair(total->counts.bytes, total->counts.casts);
    return std::pair(costs.without_first ? total->later_ns() : total->counts.cpu_ns, total->counts.casts);
  });
  return sites;
}

std::string order_of_sites(const Costs& costs) {
  if (costs.by_bytes) return "The largest first: no cast was timed.";
  return costs.without_first ? "The costliest first, by CPU time without the first cast of each process, which sets "
                               "things up."
                             : "The costliest first.";
}

std::string module_of(const Model& model, const store::Site& site) {
  const store::Module* const module = model.module_of(origin_of(model.run, site));
  return module == nullptr ? "" : module->path.empty() ? module->model() : module->path;
}

std::vector<std::string> telling_of(const Model& model, const store::Site& site) {
  std::vector<std::string> telling;
  if (const store::Module* const module = model.module_of(site)) telling.push_back("in " + module->model());
  telling.resize(1);
  telling.push_back(std::string(store::name(site.phase)));
  telling.emplace_back(site.traced() ? "while tracing" : site.compiled() ? "in a compiled graph" : "eager");
  for (std::string& one : telling_of_stack(model.run, site.stack)) telling.push_back(std::move(one));
  telling.push_back("on " + std::string(store::device_name(site.device)));
  telling.push_back("site " + std::to_string(site.id));
  return telling;
}

// "1 µs", of the work in timed steps; "" where there was none.
std::string on_gpu(const rules::DeviceWork& work) { return work.launches == 0 ? "" : duration(work.ns); }

std::vector<Table::Column> columns_of_sites(const Costs& costs) {
  std::vector<Table::Column> columns = {
      {"where"},
      {"module"},
      {"operator"},
      {"from, to"},
      {"role"},
      {"not kept"},
      {"casts", true},
      {"hits", true},
      {"bytes", true, costs.by_bytes},
      {costs.without_first ? "CPU time of later casts" : "CPU time", true, !costs.by_bytes}};
  if (costs.without_first) columns.push_back({"of first casts", true});
  return columns;
}

std::vector<std::string> cells_of(const Model& model, const SiteTotal& total, const Costs& costs) {
  const store::Site& site = model.run.sites[total.site];
  const store::Counts& counts = total.counts;
  std::vector<std::string> cells = {
      place(model.run, model.run.user_location(site.stack)),
      module_of(model, site),
      operator_words(model.run, site),
      std::string(store::dtype_name(site.from)) + " to\u00a0" + std::string(store::dtype_name(site.to)),
      site.role == lanes::Role::kUnknown ? "" : std::string(store::name(site.role)),
      why_not_kept(reason_not_kept(site), site.role),
      grouped(counts.casts),
      grouped(counts.hits),
      rules::readable_bytes(counts.bytes),
      costs.without_first ? part_of_time(total.later_ns(), counts) : time_of_casts(counts)};
  if (costs.without_first) cells.push_back(part_of_time(total.first_ns, counts));
  return cells;
}

// Casts of every cause are in the table: what of them is autocast's.
std::string whose_casts(const Model& model) {
  const store::Counts all = at_sites(model), &others = model.totals.others;
  const bool timed = all.cpu_ns > 0;
  std::string text = "Casts of every cause: " + counted(all.casts, "cast", "casts");
  if (all.casts > 0) text += timed ? " in " + duration(all.cpu_ns) + " of CPU time" : ", none of them timed";
  if (others.casts > 0)
    text +=
        ", " + grouped(others.casts) + (timed ? " of them (" + time_of_casts(others) + ")" : "") + " not by autocast";
  if (model.totals.compiled.casts > 0)
    text +=
        ", " + grouped(model.totals.compiled.casts) + " in compiled graphs" + (timed ? ", which are not timed" : "");
  return text + ".";
}

void write_table_of_costs(Html& html, const Model& model, const Costs& found) {
  const auto table = html.element("table", {{"class", "costs"}});
  html.leaf("caption",
            found.by_bytes
                ? "The largest first, by share of the bytes of all casts: none was timed."
                : "The costliest first, by share of " + duration(found.told_ns) +
                      ": the CPU time of all casts, autocast's and others" +
                      (found.without_first ? ", without the first of each place, which sets things up." : "."));
  {
    const auto head = html.element("thead");
    const auto row = html.element("tr");
    html.leaf("th", "share ▼", {{"scope", "col"}, {"class", "number"}, {"aria-sort", "descending"}});
    html.leaf("th", "where", {{"scope", "col"}});
    html.leaf("th", "what is cast, how often, and how long it took", {{"scope", "col"}});
  }
  {
    const auto body = html.element("tbody");
    for (const Cost& cost : found.all | std::views::take(kCosts)) {
      const auto row = html.element("tr");
      {
        const auto cell = html.element("td", {{"class", "number share"}});
        html.text(percent(cost.share));
        draw_share(html, cost.share);
      }
      {
        const auto cell = html.element("td");
        const auto code = html.element("code");
        write_breakable(html, place_of(model, cost));
      }
      const auto cell = html.element("td");
      write_breakable(html, description(model, cost));
    }
  }
}

}  // namespace

void write_costs(Page& page, const Model& model) {
  const Costs found = costliest(model);
  if (found.all.empty()) return;
  const Section section(page, "costs", found.by_bytes ? "Where the casts are" : "Where the casts' time goes");
  Html& html = page.html;
  write_table_of_costs(html, model, found);
  if (found.all.size() > kCosts)
    html.leaf("p", counted(found.all.size() - kCosts, "more is", "more are") + " among the sites below.",
              {{"class", "soft"}});
}

void write_sites(Page& page, const Model& model) {
  if (model.sites.empty()) return;
  const Section section(page, "sites", "Sites");
  page.html.leaf("p", whose_casts(model), {{"class", "soft"}});
  const Costs costs = costliest(model);
  const bool by_events = model.gpu.by_events.casts.launches > 0;
  std::vector<Table::Column> columns = columns_of_sites(costs);
  if (model.gpu.timed()) columns.push_back({"GPU time", true});
  if (by_events) columns.push_back({"GPU time at most, by CUDA events", true});
  Table table(order_of_sites(costs), std::move(columns));
  for (const SiteTotal* const total : sites_by_cost(model, costs) | std::views::take(Table::kMost)) {
    std::vector<std::string> cells = cells_of(model, *total, costs);
    if (model.gpu.timed()) cells.push_back(on_gpu(model.gpu.sites[total->site]));
    if (by_events) cells.push_back(on_gpu(model.gpu.by_events.sites[total->site]));
    table.add({.cells = std::move(cells), .telling = telling_of(model, model.run.sites[total->site])});
  }
  table.write(page.html, model.sites.size(), "JSON");
}

void write_regions(Page& page, const Model& model) {
  if (model.run.regions.empty()) return;
  const Section section(page, "regions", "Autocast regions");
  std::vector<const store::Region*> regions;
  for (const store::Region& region : model.run.regions) regions.push_back(&region);
  std::ranges::stable_sort(regions, std::greater(),
                           [&](const store::Region* region) { return model.regions[region->id].counts.casts; });
  Table table("Regions in which most is cast come first.", {{"where"},
                                                            {"device"},
                                                            {"dtype"},
                                                            {"state"},
                                                            {"entered", true},
                                                            {"casts by autocast", true, true},
                                                            {"hits", true},
                                                            {"cache at most", true}});
  for (const store::Region* const one : regions | std::views::take(Table::kMost)) {
    const store::Region& region = *one;
    const RegionTotal& total = model.regions[region.id];
    std::string state = region.enabled ? "on" : "off";
    if (region.enabled && !region.cache_enabled) state += ", no cache";
    if (region.parent != 0) state += ", nested";
    if (region.kind == lanes::RegionKind::kRaw) state += ", raw switch";
    if (region.kind == lanes::RegionKind::kInherited) state += ", inherited by a thread";
    if (region.kind == lanes::RegionKind::kScript) state += ", of scripted code";
    std::vector<std::string> telling = telling_of_stack(model.run, region.stack);
    const store::Region* const outer = model.run.regions.find(region.parent);
    telling.push_back(outer == nullptr ? ""
                                       : "within that of " + place(model.run, model.run.user_location(outer->stack)));
    telling.push_back("region " + std::to_string(region.id));
    table.add({.cells = {place(model.run, model.run.user_location(region.stack)),
                         std::string(store::device_name(region.device)), std::string(store::dtype_name(region.dtype)),
                         state, grouped(total.entered), grouped(total.counts.casts), grouped(total.counts.hits),
                         rules::readable_bytes(total.most_bytes)},
               .telling = std::move(telling)});
  }
  table.write(page.html, model.run.regions.size(), "JSON");
}

namespace {

std::string end_of(const store::Process& process) {
  std::string end;
  switch (process.end) {
    case store::ProcessEnd::kNotSeen:
      end = "end not seen";
      break;
    case store::ProcessEnd::kExited:
      end = "exited";
      break;
    case store::ProcessEnd::kReplaced:
      end = "replaced by another program";
      break;
    case store::ProcessEnd::kVanished:
      end = "gone without an end mark";
      break;
  }
  if (!process.ended) end = "runs";
  return process.exit_status < 0 ? end : end + ", status " + std::to_string(process.exit_status);
}

}  // namespace

void write_processes(Page& page, const Model& model) {
  if (model.run.processes.empty()) return;
  const Section section(page, "processes", "Processes");
  Table table("By rank, host and start.", {{"process"},
                                           {"rank"},
                                           {"host"},
                                           {"end"},
                                           {"casts by autocast", true},
                                           {"hits", true},
                                           {"CPU time of these", true},
                                           {"cache at most", true},
                                           {"events", true},
                                           {"dropped", true}});
  for (const store::ProcessId id : model.process_order | std::views::take(Table::kMost)) {
    const store::Process& process = model.run.processes[id];
    const ProcessTotal& total = model.processes[process.id];
    table.add({.cells = {std::to_string(process.info.pid), process.attribute("rank"), process.info.host,
                         end_of(process), grouped(total.counts.casts), grouped(total.counts.hits),
                         time_of_casts(total.counts), rules::readable_bytes(process.gauges.cache_peak_bytes),
                         grouped(total.received), grouped(total.dropped)},
               .telling = {"process " + std::to_string(process.id) + " of the run"}});
  }
  table.write(page.html, model.run.processes.size(), "JSON");
}

}  // namespace castscope::report
