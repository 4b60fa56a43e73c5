#include "server/report/model/code_order.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

namespace castscope::report {
namespace {

using Frame = std::tuple<std::string, std::int64_t, std::string>;

Frame frame_of(const store::CodeLocation& at) { return {at.file, at.line, at.function}; }

// The user's own line, then the whole stack.
std::vector<Frame> frames_of(const store::RunData& run, store::StackId stack) {
  std::vector<Frame> all;
  if (stack == 0 || run.stacks[stack].frames.empty()) return all;
  all.push_back(frame_of(*run.user_location(stack)));
  for (const store::CodeLocation& at : run.stacks[stack].frames) all.push_back(frame_of(at));
  return all;
}

struct SiteKey {
  std::vector<Frame> frames;
  std::string model, module, op, argument;
  std::tuple<lanes::Role, lanes::Cause, lanes::Phase, std::uint8_t, std::uint8_t, std::uint8_t> what;
  std::size_t region = 0;
  lanes::WhyNotCached why{};
  std::uint32_t id = 0;
  auto operator<=>(const SiteKey&) const = default;
};

SiteKey key_of(const store::RunData& run, const store::Site& site,
               const store::Table<std::size_t, store::Region>& places) {
  const store::Module* const module = run.modules.find(site.module);
  const store::CallSite* const at = run.call_sites.find(site.call_site);
  const std::size_t* const region = places.find(site.region);
  return {.frames = frames_of(run, site.stack),
          .model = module == nullptr ? "" : module->model(),
          .module = module == nullptr ? "" : module->path,
          .op = site.op,
          .argument = at == nullptr               ? ""
                      : at->argument_name.empty() ? std::to_string(at->argument)
                                                  : at->argument_name,
          .what = {site.role, site.cause, site.phase, site.from, site.to, site.device},
          .region = region == nullptr ? 0 : *region,
          .why = site.why,
          .id = site.id};
}

}  // namespace

std::vector<store::RegionId> regions_by_code(const store::RunData& run) {
  using Key = std::tuple<std::vector<Frame>, std::uint32_t, std::uint8_t, std::uint8_t, bool, bool, lanes::RegionKind,
                         std::uint8_t, std::uint32_t>;
  std::vector<std::pair<Key, store::RegionId>> keyed;
  for (const store::Region& region : run.regions)
    keyed.push_back({{frames_of(run, region.stack), region.nesting, region.device, region.dtype, region.enabled,
                      region.cache_enabled, region.kind, region.flags, region.id},
                     region.id});
  std::ranges::sort(keyed, {}, [](const auto& one) -> const Key& { return one.first; });
  std::vector<store::RegionId> all;
  for (const auto& [key, id] : keyed) all.push_back(id);
  return all;
}

store::Table<std::size_t, store::Region> region_places(const store::RunData& run) {
  store::Table<std::size_t, store::Region> places(run.regions.size());
  std::size_t place = 0;
  for (const store::RegionId id : regions_by_code(run)) places[id] = ++place;
  return places;
}

std::vector<const SiteTotal*> sites_by_code(const store::RunData& run, std::span<const SiteTotal> sites) {
  const auto places = region_places(run);
  std::vector<std::pair<SiteKey, const SiteTotal*>> keyed;
  for (const SiteTotal& total : sites) keyed.emplace_back(key_of(run, run.sites[total.site], places), &total);
  std::ranges::sort(keyed, {}, [](const auto& one) -> const SiteKey& { return one.first; });
  std::vector<const SiteTotal*> all;
  for (const auto& [key, total] : keyed) all.push_back(total);
  return all;
}

}  // namespace castscope::report
