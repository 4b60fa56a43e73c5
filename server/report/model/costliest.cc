#include "server/report/model/costliest.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "server/report/text/words.h"
#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/places/different_modules.h"
#include "server/store/run/names.h"

namespace castscope::report {
namespace {

constexpr const char* kInBackward = "in backward";

// Whether the line in the forward pass is unknown for a cast in backward. The casts of scripted and compiled code stand
// at that line by themselves: the agent takes their stacks from the graph.
bool knows_no_line(const store::RunData& run, const store::Site& site) {
  const bool of_graph = site.call_site != 0 || site.compiled();
  return site.cause == lanes::Cause::kBackward && !(of_graph && run.user_location(site.stack));
}

// Puts casts together that look the same to people: the same place, operator, argument, dtypes and reason.
std::vector<Cost> put_together(const Model& model) {
  const store::RunData& run = model.run;
  std::map<std::tuple<std::string, std::string, std::string, int, int, int>, Cost> together;
  for (const SiteTotal& total : model.sites) {
    if (total.counts.casts == 0) continue;
    const store::Site& site = origin_of(run, run.sites[total.site]);
    const bool in_backward = knows_no_line(run, site);
    const auto at = in_backward ? std::nullopt : run.user_location(site.stack);
    auto key = std::make_tuple(place(run, at), site.op, argument_words(run, site), static_cast<int>(site.from),
                               static_cast<int>(site.to), static_cast<int>(site.why));
    if (in_backward) key = {kInBackward, "", "", 0, 0, 0};
    Cost& cost = together[std::move(key)];
    if (cost.sites++ == 0) cost.site = site.id, cost.at = at, cost.in_backward = in_backward;
    if (site.module != 0) cost.modules.insert(site.module);
    cost.counts += total.counts;
    if (run.sites[total.site].cause == lanes::Cause::kBackward) cost.gradients += total.counts.casts;
    cost.gpu_ns += model.gpu.sites[total.site].ns;
    cost.first_ns += total.first_ns;
  }
  std::vector<Cost> all;
  for (auto& [key, cost] : together) all.push_back(std::move(cost));
  return all;
}

}  // namespace

const store::Site& origin_of(const store::RunData& run, const store::Site& site) {
  const store::Site* origin = &site;
  while (const store::Site* const forward = run.sites.find(origin->forward_site)) origin = forward;
  return *origin;
}

Costs costliest(const Model& model) {
  Costs costs;
  costs.all = put_together(model);
  for (const Cost& cost : costs.all) costs.without_first |= cost.counts.cpu_ns > cost.first_ns;
  for (Cost& cost : costs.all) {
    cost.told_ns = cost.counts.cpu_ns - (costs.without_first ? cost.first_ns : 0);
    costs.told_ns += cost.told_ns;
  }
  costs.by_bytes = costs.told_ns == 0;
  if (!costs.by_bytes) std::erase_if(costs.all, [](const Cost& cost) { return cost.told_ns == 0; });
  std::ranges::stable_sort(costs.all, [by_bytes = costs.by_bytes](const Cost& a, const Cost& b) {
    return std::make_tuple(b.told_ns, by_bytes ? b.counts.bytes : 0, b.counts.casts) <
           std::make_tuple(a.told_ns, by_bytes ? a.counts.bytes : 0, a.counts.casts);
  });
  std::uint64_t whole = 0;
  const auto weight = [&](const Cost& cost) { return costs.by_bytes ? cost.counts.bytes : cost.told_ns; };
  for (const Cost& cost : costs.all) whole += weight(cost);
  for (Cost& cost : costs.all)
    if (whole > 0) cost.share = static_cast<double>(weight(cost)) / static_cast<double>(whole);
  return costs;
}

std::string place_of(const Model& model, const Cost& cost) {
  return cost.in_backward ? kInBackward : place(model.run, cost.at);
}

std::string what_shares_are_of(const Costs& costs) {
  if (costs.by_bytes) return "the bytes of all casts, as none was timed";
  return std::string("the CPU time of all casts") + (costs.without_first ? " but each place's first" : "");
}

namespace {

std::string what_is_cast(const Model& model, const Cost& cost) {
  const store::Site& site = model.run.sites[cost.site];
  if (cost.in_backward) return "gradients of casts";
  std::string what = operator_of(site);
  if (site.op.empty() && site.cause == lanes::Cause::kUserTo) what = "to";
  if (site.op.empty() && site.cause == lanes::Cause::kBackward) what = "gradients";
  const std::string which = argument_words(model.run, site);
  if (!which.empty())
    what += " " + which;
  else if (site.cause == lanes::Cause::kUserTo)
    what += "()";  // the user's own call
  if (const store::Module* const module = model.module_of(site); module != nullptr && !module->path.empty()) {
    const std::string within = module->root_number > 1 ? " in " + module->model() : "";
    what += (which.empty() ? " in " : " of ") + module->path + within;
    if (const std::size_t modules = rules::different_modules(model.run, cost.modules); modules > 1)
      what += " and " + grouped(modules - 1) + " more";
  }
  return what;
}

std::string casts_of(const Cost& cost) {
  std::string casts = counted(cost.counts.casts, "cast", "casts");
  if (!cost.in_backward && cost.gradients > 0) casts += " (" + grouped(cost.gradients) + " in backward)";
  return casts;
}

std::string time_or_bytes(const Cost& cost) {
  return cost.told_ns > 0 ? duration(cost.told_ns) : rules::readable_bytes(cost.counts.bytes) + ", not timed";
}

}  // namespace

std::string brief_description(const Model& model, const Cost& cost) {
  return what_is_cast(model, cost) + ": " + time_or_bytes(cost) + ", " + casts_of(cost);
}

std::string description(const Model& model, const Cost& cost) {
  const store::Site& site = model.run.sites[cost.site];
  std::string what = what_is_cast(model, cost);
  if (!cost.in_backward)
    what += ", " + std::string(store::dtype_name(site.from)) + " to " + std::string(store::dtype_name(site.to));
  what += ": " + casts_of(cost);
  if (cost.counts.hits > 0) what += ", " + counted(cost.counts.hits, "cache hit", "cache hits");
  what += ", " + time_or_bytes(cost);
  const std::uint64_t left_out = cost.counts.cpu_ns - cost.told_ns;
  if (left_out > cost.told_ns)
    what += " (and " + duration(left_out) + (cost.sites > 1 ? " the first of each)" : " the first)");
  if (cost.gpu_ns > 0) what += ", " + duration(cost.gpu_ns) + " on the GPU in timed steps";
  const bool could_be_kept = site.role == lanes::Role::kWeight || site.role == lanes::Role::kBuffer;
  if (could_be_kept && site.why != lanes::WhyNotCached::kNone && site.why != lanes::WhyNotCached::kNotAutocast) {
    what += ", not kept: " + why_not_kept(site.why, site.role);
  }
  return what;
}

}  // namespace castscope::report
