#include "server/report/costliest.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "server/report/words.h"
#include "server/store/names.h"

namespace castscope::report {

std::vector<Cost> costliest(const Model& model) {
  const store::RunData& run = model.run;
  std::map<std::tuple<std::string, std::string, std::string, int, int, int>, Cost> together;
  std::uint64_t all_ns = 0;
  for (const SiteTotal& total : model.sites) {
    if (total.counts.casts == 0) continue;
    const store::Site& site = run.site(total.site);
    const auto at = run.user_location(site.stack);
    Cost& cost =
        together[{place(run, at), site.op, argument_of(run, site), site.from, site.to, static_cast<int>(site.why)}];
    if (cost.sites++ == 0) cost.site = total.site, cost.at = at;
    cost.counts += total.counts;
    cost.gpu_ns += model.gpu.sites[total.site - 1].ns;
    for (const store::SiteUse* use : total.uses) cost.first_ns += use->evidence.first_ns;
    all_ns += total.counts.cpu_ns;
  }
  std::vector<Cost> all;
  for (auto& [key, cost] : together) all.push_back(std::move(cost));
  std::stable_sort(all.begin(), all.end(), [](const Cost& a, const Cost& b) {
    return std::make_tuple(b.counts.cpu_ns, b.counts.casts) < std::make_tuple(a.counts.cpu_ns, a.counts.casts);
  });
  for (Cost& cost : all) {
    if (all_ns > 0) cost.share = static_cast<double>(cost.counts.cpu_ns) / static_cast<double>(all_ns);
  }
  return all;
}

std::string description(const Model& model, const Cost& cost) {
  const store::Site& site = model.run.site(cost.site);
  std::string what = operator_of(site);
  if (const std::string which = argument_of(model.run, site); !which.empty()) what += " " + which;
  if (const store::Module* const module = model.module_of(site); module != nullptr && !module->path.empty()) {
    what += " of " + module->path + (module->root_number > 1 ? " in " + module->model() : "");
    if (cost.sites > 1) what += " and " + grouped(cost.sites - 1) + " more";
  }
  what += ", " + std::string(store::dtype_name(site.from)) + " to " + std::string(store::dtype_name(site.to)) + ": " +
          counted(cost.counts.casts, "cast", "casts");
  if (cost.counts.hits > 0) what += ", " + counted(cost.counts.hits, "cache hit", "cache hits");
  what += ", " + duration(cost.counts.cpu_ns);
  // In a short run the first call is most of it: it pays for page faults and the start of threads.
  if (cost.counts.casts > 1 && 2 * cost.first_ns > cost.counts.cpu_ns) {
    what += " (" + duration(cost.first_ns) + (cost.sites > 1 ? " of it the first of each)" : " of it the first)");
  }
  if (cost.gpu_ns > 0) what += ", " + duration(cost.gpu_ns) + " on the GPU in timed steps";
  const bool could_be_kept = site.role == lanes::Role::kWeight || site.role == lanes::Role::kBuffer;
  if (could_be_kept && site.why != lanes::WhyNotCached::kNone && site.why != lanes::WhyNotCached::kNotAutocast) {
    what += ", not kept: " + std::string(store::name(site.why));
  }
  return what;
}

}  // namespace castscope::report
