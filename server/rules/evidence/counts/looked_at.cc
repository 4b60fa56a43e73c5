#include "server/rules/evidence/counts/looked_at.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "server/store/run/causes.h"

namespace castscope::rules {
namespace {

using Code = std::pair<std::uint32_t, std::uint32_t>;  // stack, module

// Operators that were called, by the code that called them. Two graphs of a line's code are told apart by its module.
struct Seen {
  std::set<Code> code;
  std::set<std::uint32_t> modules, regions;
};

bool is_deep_mode(std::string_view word) {
  if (word == "auto" || word == "automatic" || word == "always" || word == "never") return true;
  return !word.empty() && word.front() != '0' && std::ranges::all_of(word, absl::ascii_isdigit);
}

Seen seen_in_deep_steps(const store::RunData& run) {
  Seen seen;
  for (const store::UseCount& count : run.use_counts) {
    const store::OperatorUse* use = count.times == 0 ? nullptr : run.operator_uses.find(count.use);
    if (use == nullptr) continue;
    seen.code.insert({use->stack, use->module});
    seen.modules.insert(use->module);
    seen.regions.insert(use->region);
  }
  return seen;
}

// Whether operators at this place could have been looked at: eager code or a script, within a region.
bool may_be_looked_at(const store::Site& site) {
  return site.region != 0 && site.stack != 0 && !site.compiled() && !site.traced() && !site.pass_through();
}

std::vector<bool> used_sites(const store::RunData& run) {
  std::vector<bool> used(run.sites.size() + 1);
  for (const store::SiteUse& use : run.site_uses)
    if (use.counts.casts + use.counts.hits > 0) used[use.site] = true;
  return used;
}

std::set<std::uint32_t> processes_in_regions(const store::RunData& run) {
  std::set<std::uint32_t> processes;
  for (const store::RegionUse& use : run.region_uses)
    if (use.entered > 0) processes.insert(use.process);
  return processes;
}

void note_gap(LookedAt& all, const store::Process& process, std::uint64_t step) {
  if (!all.first_gap || step < all.first_gap->step) all.first_gap = {process.id, step};
}

void note_process(LookedAt& all, const store::Process& process) {
  all.deep_steps += process.gauges.deep_steps;
  all.operators += process.gauges.deep_operators;
  all.ns += process.gauges.deep_ns;
  all.refused += process.gauges.new_code_left_out;
  if (process.gauges.first_gap_plus_one == 0) return;
  note_gap(all, process, process.gauges.first_gap_plus_one - 1);
}

}  // namespace

LookedAt looked_at(const store::RunData& run) {
  LookedAt all;
  const std::set<std::uint32_t> in_regions = processes_in_regions(run);
  for (const store::Process& process : run.processes) {
    note_process(all, process);
    if (!in_regions.contains(process.id)) continue;
    all.steps += process.gauges.present_step + 1;
    if (process.gauges.deep_steps == 0) note_gap(all, process, 0);
  }
  all.site_looked_at = decltype(all.site_looked_at)(run.sites.size());
  const Seen seen = seen_in_deep_steps(run);
  const std::vector<bool> used = used_sites(run);
  std::set<std::uint32_t> modules, regions;
  for (const store::Site& site : run.sites) {
    if (!used[site.id] || !may_be_looked_at(site)) continue;
    const bool looked = seen.code.contains({site.stack, site.module});
    all.site_looked_at[site.id] = looked;
    ++all.sites;
    if (!looked) all.sites_not.push_back(site.id);
    if (site.module != 0 && modules.insert(site.module).second && !seen.modules.contains(site.module))
      all.modules_not.push_back(site.module);
    if (regions.insert(site.region).second && !seen.regions.contains(site.region))
      all.regions_not.push_back(site.region);
  }
  all.modules = modules.size();
  all.regions = regions.size();
  std::ranges::sort(all.modules_not);
  std::ranges::sort(all.regions_not);
  return all;
}

std::string deep_mode(const store::RunData& run) {
  std::string mode = "automatic";
  const auto take = [&](const std::string& told) {
    if (!told.empty()) mode = is_deep_mode(told) ? told : "automatic";
  };
  take(run.start.deep);
  for (const store::Process& process : run.processes) take(process.attribute("deep"));
  return mode == "auto" ? "automatic" : mode;
}

std::string gpu_setting(const store::RunData& run) {
  constexpr std::array<std::string_view, 4> kSettings = {"auto", "on", "events", "off"};
  std::string setting = "auto";
  const auto take = [&](const std::string& told) {
    if (!told.empty()) setting = std::ranges::find(kSettings, told) != kSettings.end() ? told : "auto";
  };
  take(run.start.gpu);
  for (const store::Process& process : run.processes) take(process.attribute("gpu"));
  return setting;
}

}  // namespace castscope::rules
