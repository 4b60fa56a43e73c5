#include "server/report/model/code_order.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "server/report/text/words.h"

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

// The place of each stack among all of them, by their frames; stacks alike have the same. 0 = a stack without frames.
store::Table<std::size_t, store::Stack> stack_places(const store::RunData& run) {
  std::vector<std::pair<std::vector<Frame>, store::StackId>> keyed;
  for (const store::StackId id : run.stacks.ids()) keyed.emplace_back(frames_of(run, id), id);
  std::ranges::sort(keyed);
  store::Table<std::size_t, store::Stack> places(run.stacks.size());
  std::size_t place = 0;
  const std::vector<Frame>* before = nullptr;
  for (const auto& [frames, id] : keyed) {
    if (frames.empty()) continue;
    if (before == nullptr || *before != frames) ++place;
    places[id] = place;
    before = &frames;
  }
  return places;
}

template <typename Of>
std::size_t place_in(const store::Table<std::size_t, Of>& places, store::Id<Of> id) {
  const std::size_t* const place = places.find(id);
  return place == nullptr ? 0 : *place;
}

struct SiteKey {
  std::size_t stack = 0;
  std::string model, module, op, argument;
  std::tuple<lanes::Role, lanes::Cause, lanes::Phase, std::uint8_t, std::uint8_t, std::uint8_t> what;
  std::size_t region = 0;
  lanes::WhyNotCached why{};
  auto operator<=>(const SiteKey&) const = default;
};

SiteKey key_of(const store::RunData& run, const store::Site& site,
               const store::Table<std::size_t, store::Stack>& stacks,
               const store::Table<std::size_t, store::Region>& regions) {
  const store::Module* const module = run.modules.find(site.module);
  return {.stack = place_in(stacks, site.stack),
          .model = module == nullptr ? "" : module->model(),
          .module = module == nullptr ? "" : module->path,
          .op = site.op,
          .argument = argument_of(run, site.call_site),
          .what = {site.role, site.cause, site.phase, site.from, site.to, site.device},
          .region = place_in(regions, site.region),
          .why = site.why};
}

}  // namespace

std::vector<store::RegionId> regions_by_code(const store::RunData& run) {
  using Key = std::tuple<std::size_t, std::uint32_t, std::uint8_t, std::uint8_t, bool, bool, lanes::RegionKind,
                         std::uint8_t, std::uint32_t>;
  const auto stacks = stack_places(run);
  std::vector<std::pair<Key, store::RegionId>> keyed;
  for (const store::Region& region : run.regions)
    keyed.push_back({{place_in(stacks, region.stack), region.nesting, region.device, region.dtype, region.enabled,
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

std::vector<std::size_t> sites_by_code(const store::RunData& run, std::span<const SiteTotal> sites) {
  const auto stacks = stack_places(run);
  const auto regions = region_places(run);
  // Casts in backward that look the same come in the order of the casts whose gradients they convert.
  using Key = std::tuple<SiteKey, SiteKey, store::SiteId>;
  std::vector<std::pair<Key, std::size_t>> keyed;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const store::Site& site = run.sites[sites[i].site];
    const store::Site* const forward = run.sites.find(site.forward_site);
    keyed.push_back({{key_of(run, site, stacks, regions),
                      forward == nullptr ? SiteKey() : key_of(run, *forward, stacks, regions), site.id},
                     i});
  }
  std::ranges::sort(keyed, {}, [](const auto& one) -> const Key& { return one.first; });
  std::vector<std::size_t> all;
  for (const auto& [key, place] : keyed) all.push_back(place);
  return all;
}

}  // namespace castscope::report
