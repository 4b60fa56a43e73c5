#include "server/rules/evidence/region_work.h"

#include <algorithm>
#include <set>

#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/operators/uses.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/evidence/places/regions.h"
#include "server/store/run/names.h"

namespace castscope::rules {
namespace {

bool is_autocasts_own(const store::CodeLocation& frame) { return frame.file.ends_with("/amp/autocast_mode.py"); }

bool is_context(const store::Region& region) { return region.kind == lanes::RegionKind::kContext; }

}  // namespace

bool is_uncast_work(const store::OperatorUse& use) {
  const bool casts = use.is(lanes::kUseEligible) || is_made_of_products(use.op);
  if (!casts || !is_matrix_work(use.op) || use.computed != kFloat) return false;
  return has_operand(use, kFloat);
}

const store::Region* enabled_for_any_device(const store::RunData& data, store::RegionId innermost) {
  for (store::RegionId id = innermost; id != 0; id = data.regions[id].parent) {
    const store::Region& region = data.regions[id];
    if (enabled_region(data, innermost, region.device) == &region) return &region;
  }
  return nullptr;
}

bool has_enabled_beside(const store::RunData& data, const store::Region& region) {
  return std::any_of(data.regions.begin(), data.regions.end(), [&](const store::Region& other) {
    if (other.id == region.id || !other.enabled) return false;
    return is_within(data, other.id, region.id) || is_within(data, region.id, other.id);
  });
}

store::Table<bool, store::Region> regions_with_casts(const store::RunData& data) {
  store::Table<bool, store::Region> with(data.regions.size());
  for (const store::SiteUse& use : data.site_uses) {
    const store::Site& site = data.sites[use.site];
    if (!is_work_of_autocast(site.cause) || use.counts.empty()) continue;
    for (store::RegionId id = site.region; id != 0; id = data.regions[id].parent)
      if (data.regions[id].device == site.device) with[id] = true;
  }
  return with;
}

store::Table<bool, store::Region> regions_of_wrong_device(const store::RunData& data) {
  store::Table<bool, store::Region> wrong(data.regions.size()), right = regions_with_casts(data);
  for (const store::OperatorUse& use : data.operator_uses)
    for (store::RegionId id = use.region; id != 0; id = data.regions[id].parent)
      (data.regions[id].device == use.device ? right : wrong)[id] = true;
  for (const store::RegionId id : wrong.ids()) wrong[id] = wrong[id] && !right[id];
  return wrong;
}

bool was_entered_again(const store::Fact& fact) {
  return fact.kind == lanes::FactKind::kRegionNeverLeft && fact.detail == 1;
}

store::Table<bool, store::Region> regions_left_on(const store::RunData& data) {
  std::set<store::StackId> stacks;
  for (const store::Fact& fact : data.facts)
    if (was_entered_again(fact)) stacks.insert(fact.stack);
  store::Table<bool, store::Region> left_on(data.regions.size());
  for (const store::Region& region : data.regions)
    left_on[region.id] = region.kind == lanes::RegionKind::kRaw && stacks.contains(region.stack);
  return left_on;
}

std::optional<store::CodeLocation> opening_frame(const store::RunData& data, const store::Region& region) {
  for (const store::CodeLocation& frame : frames_of(data, region.stack)) {
    if (is_autocasts_own(frame)) continue;
    if (store::is_standard_library(frame)) continue;  // contextlib
    if (!store::is_users_own(frame, data.torch_folders)) return std::nullopt;
    return frame;
  }
  return std::nullopt;
}

Stays stays_in(const store::RunData& data, store::RegionId region) {
  Stays stays;
  for (const store::RegionUse& use : data.region_uses) {
    if (use.region != region) continue;
    stays.entered += use.entered;
    stays.exited += use.exited;
    stays.most_optimizer_steps = std::max(stays.most_optimizer_steps, use.most_optimizer_steps);
    stays.clears_within += use.clears_within;
    stays.old_hits += use.old_hits;
  }
  return stays;
}

bool spans_steps(const store::RunData& data, const store::Region& region, std::uint64_t steps) {
  // A region without its cache serves no old copies, however long it goes on.
  return is_context(region) && region.enabled && region.cache_enabled &&
         stays_in(data, region.id).most_optimizer_steps >= steps;
}

std::string region_text(const store::Region& region) {
  return std::string(store::dtype_name(region.dtype)) + " autocast for " +
         std::string(store::device_name(region.device));
}

std::string operators_text(const std::vector<const store::OperatorUse*>& uses) {
  constexpr std::size_t kMost = 3;
  std::vector<std::string_view> names;
  for (const store::OperatorUse* use : uses)
    if (std::find(names.begin(), names.end(), use->op) == names.end()) names.push_back(use->op);
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kMost; ++i) text += (i == 0 ? "" : ", ") + std::string(names[i]);
  return names.size() <= kMost ? text : text + " and " + counted(names.size() - kMost, "other");
}

}  // namespace castscope::rules
