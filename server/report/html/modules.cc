// The section of the page that shows in which modules casts are: a flame view, and the same as a table.
#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "absl/strings/str_cat.h"
#include "server/graph/folding.h"
#include "server/report/drawings/flame.h"
#include "server/report/drawings/svg.h"
#include "server/report/html/page_text.h"
#include "server/report/html/parts.h"
#include "server/report/html/table.h"
#include "server/report/model/costliest.h"
#include "server/report/text/words.h"
#include "server/rules/evidence/finding.h"
#include "server/store/run/names.h"

namespace castscope::report {
namespace {

constexpr const char* kNoModule = "outside modules";

// The casts of a module, with those of the modules in it.
struct ModuleCasts {
  std::string type;
  store::Counts counts;
  std::uint64_t told_ns = 0;                 // what Costs count: without first casts, where there are others
  bool own = false;                          // it casts itself, not only what it consists of
  std::map<std::uint8_t, store::Counts> to;  // by the dtype that is cast to
  std::map<std::string, ModuleCasts> parts;
};

class ModulesByCost {
 public:
  ModulesByCost(const Model& model, const Costs& costs) : costs_(costs) {
    for (const SiteTotal& total : model.sites) {
      if (total.counts.casts > 0) add(model, total);
    }
  }
  bool empty() const { return whole.counts.casts == 0; }
  double value(const ModuleCasts& of) const {
    return static_cast<double>(costs_.by_bytes ? of.counts.casts : of.told_ns);
  }

  ModuleCasts whole;

 private:
  static std::vector<std::string> outside(const Model& model, const store::Site& site) {
    return {kNoModule, place(model.run, model.run.user_location(site.stack))};
  }
  // Adds a site's casts to its module. The cast of a gradient counts for the module of the forward cast that it undoes.
  void add(const Model& model, const SiteTotal& total) {
    const store::Site& origin = origin_of(model.run, model.run.sites[total.site]);
    const store::Module* const module = model.module_of(origin);
    const std::uint64_t told_ns = costs_.without_first ? total.later_ns() : total.counts.cpu_ns;
    ModuleCasts* at = &whole;
    const auto count = [&] {
      at->counts += total.counts;
      at->told_ns += told_ns;
      at->to[origin.to] += total.counts;
    };
    count();
    for (const std::string& step : module == nullptr ? outside(model, origin) : graph::module_steps(*module)) {
      at = &at->parts[step];
      count();
    }
    at->own = true;
    if (module != nullptr) at->type = module->type;
  }

  const Costs& costs_;
};

std::string told(const ModulesByCost& modules, const ModuleCasts& of) {
  const std::string time = of.told_ns > 0 ? duration(of.told_ns) : time_of_casts(of.counts);
  return absl::StrCat(percent(modules.value(of) / modules.value(modules.whole)), ", ",
                      counted(of.counts.casts, "cast", "casts"), ", ", rules::readable_bytes(of.counts.bytes),
                      time.empty() ? "" : ", " + time);
}

// Returns the dtype that most of it is cast to, by number: the viewer's flames are coloured by it, too.
std::uint8_t mostly_to(const ModuleCasts& of) {
  return std::ranges::max_element(of.to, {}, [](const auto& one) { return one.second.casts; })->first;
}

// The largest part comes first.
Frame frame_of(const ModulesByCost& modules, const std::string& name, const ModuleCasts& of) {
  Frame frame{.name = name,
              .tip = name + (of.type.empty() ? "" : " (" + of.type + ")") + "\n" + told(modules, of) + "\nmostly to " +
                     std::string(store::dtype_name(mostly_to(of))),
              .look = dtype_class(mostly_to(of)),
              .value = modules.value(of),
              .parts = {}};
  for (const auto& [step, part] : of.parts)
    if (modules.value(part) > 0) frame.parts.push_back(frame_of(modules, step, part));
  std::ranges::stable_sort(frame.parts, std::greater(), &Frame::value);
  return frame;
}

void write_legend(Html& html, const ModuleCasts& whole) {
  std::set<std::uint8_t> dtypes;
  const auto collect = [&](const auto& self, const ModuleCasts& of) -> void {
    dtypes.insert(mostly_to(of));
    for (const auto& [step, part] : of.parts) self(self, part);
  };
  collect(collect, whole);
  const auto legend = html.element("p", {{"class", "legend"}});
  for (const std::uint8_t dtype : dtypes)
    write_swatch(html, dtype_class(dtype), "mostly to " + std::string(store::dtype_name(dtype)));
}

void collect(const std::string& path, const ModuleCasts& of,
             std::vector<std::pair<std::string, const ModuleCasts*>>& rows) {
  if (of.own) rows.emplace_back(path, &of);
  for (const auto& [step, part] : of.parts)
    collect(path.empty() ? step : path + (path == kNoModule ? ", " : ".") + step, part, rows);
}

void write_table(Html& html, const ModulesByCost& modules, bool by_casts) {
  std::vector<std::pair<std::string, const ModuleCasts*>> rows;
  collect("", modules.whole, rows);
  std::ranges::stable_sort(rows, std::greater(), [&](const auto& row) { return modules.value(*row.second); });
  const auto details = html.element("details");
  html.leaf("summary", "The same as a table");
  Table table(
      absl::StrCat("Modules that cast, with what they consist of; most ", by_casts ? "casts" : "time", " first."),
      {{"module"},
       {"class"},
       {"share", true},
       {"casts", true, by_casts},
       {"bytes", true},
       {"CPU time", true, !by_casts}});
  for (const auto& [path, of] : rows | std::views::take(Table::kMost))
    table.add({.cells = {path, of->type, percent(modules.value(*of) / modules.value(modules.whole)),
                         grouped(of->counts.casts), rules::readable_bytes(of->counts.bytes),
                         part_of_time(of->told_ns, of->counts)}});
  table.write(html, rows.size(), "JSON");
}

}  // namespace

void write_modules(Page& page, const Model& model) {
  const Costs costs = costliest(model);
  const ModulesByCost modules(model, costs);
  if (modules.empty()) return;
  const Section section(page, "modules", "Casts by module");
  const std::string what = costs.by_bytes ? "number of casts, as none was timed"
                                          : std::string("CPU time of casts") +
                                                (costs.without_first ? ", without the first of each place" : "");
  const std::string untimed = !costs.by_bytes && model.totals.compiled.casts > 0
                                  ? " Casts in compiled graphs are not timed: they have no width."
                                  : "";
  page.html.leaf(
      "p",
      "Each module stands below the one that it is part of. Casts outside modules are shown by line. Width is " + what +
          "; what backward casts is counted where the forward pass made the cast." + untimed,
      {{"class", "soft"}});
  const Frame whole = frame_of(modules, "all casts", modules.whole);
  std::string spoken = "Casts by module, by " + what + ": ";
  const auto& first = whole.parts;
  for (std::size_t i = 0; i < std::min<std::size_t>(first.size(), 5); ++i)
    absl::StrAppend(&spoken, i == 0 ? "" : ", ", first[i].name, " ", percent(first[i].value / whole.value));
  draw_flame(page.html, whole, spoken);
  write_legend(page.html, modules.whole);
  write_table(page.html, modules, costs.by_bytes);
}

}  // namespace castscope::report
