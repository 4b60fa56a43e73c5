#include "server/rules/coverage/region_work.h"

#include <algorithm>
#include <array>
#include <set>

#include "server/rules/finding.h"
#include "server/store/names.h"

namespace castscope::rules {
namespace {

constexpr std::uint8_t kHalf = 5, kFloat = 6, kBFloat16 = 15;  // c10::ScalarType

bool is_autocasts_own(const store::CodeLocation& frame) { return frame.file.ends_with("/amp/autocast_mode.py"); }

bool is_context(const store::Region& region) { return region.kind == lanes::RegionKind::kContext; }

}  // namespace

bool is_matrix_work(std::string_view op) {
  if (const auto space = op.find("::"); space != std::string_view::npos) op.remove_prefix(space + 2);
  op = op.substr(0, op.find('.'));
  while (op.starts_with('_')) op.remove_prefix(1);
  static constexpr std::array<std::string_view, 14> kNames = {
      "linear", "matmul", "mm",  "bmm",    "addmm",    "addbmm",       "baddbmm",
      "mv",     "addmv",  "dot", "einsum", "bilinear", "chain_matmul", "multi_head_attention_forward"};
  if (std::find(kNames.begin(), kNames.end(), op) != kNames.end()) return true;
  if (op.starts_with("conv") && !op.starts_with("convert")) return true;
  for (const std::string_view part : {"convolution", "scaled_dot_product", "attention", "lstm", "gru", "rnn",
                                      "linalg_matmul", "linalg_multi_dot", "grouped_mm"})
    if (op.find(part) != std::string_view::npos) return true;
  return false;
}

bool is_uncast_work(const store::OperatorUse& use) {
  if (!use.is(lanes::kUseEligible) || !is_matrix_work(use.op) || use.computed != kFloat) return false;
  return std::any_of(use.operands.begin(), use.operands.end(),
                     [](const lanes::Operand& operand) { return operand.dtype == kFloat; });
}

bool is_within(const store::RunData& data, std::uint32_t inner, std::uint32_t outer) {
  for (; inner != 0; inner = data.region(inner).parent)
    if (inner == outer) return true;
  return false;
}

std::uint32_t region_of_device(const store::RunData& data, std::uint32_t region, std::uint8_t device) {
  while (region != 0 && data.region(region).device != device) region = data.region(region).parent;
  return region;
}

std::uint32_t enabled_region(const store::RunData& data, std::uint32_t innermost) {
  for (std::uint32_t id = innermost; id != 0; id = data.region(id).parent) {
    const store::Region& region = data.region(id);
    if (region.enabled && region_of_device(data, innermost, region.device) == id) return id;
  }
  return 0;
}

bool has_enabled_beside(const store::RunData& data, const store::Region& region) {
  return std::any_of(data.regions.begin(), data.regions.end(), [&](const store::Region& other) {
    if (other.id == region.id || !other.enabled) return false;
    return is_within(data, other.id, region.id) || is_within(data, region.id, other.id);
  });
}

std::vector<bool> regions_with_casts(const store::RunData& data) {
  std::vector<bool> with(data.regions.size() + 1);
  for (const store::SiteUse& use : data.site_uses) {
    const store::Site& site = data.site(use.site);
    const bool autocasts = site.cause == lanes::Cause::kAutocast || site.cause == lanes::Cause::kScript;
    if (!autocasts || use.counts.empty()) continue;
    for (std::uint32_t id = site.region; id != 0; id = data.region(id).parent)
      if (data.region(id).device == site.device) with[id] = true;
  }
  return with;
}

std::optional<store::CodeLocation> opening_frame(const store::RunData& data, const store::Region& region) {
  if (region.stack == 0) return std::nullopt;
  for (const store::CodeLocation& frame : data.stacks[region.stack - 1].frames) {
    if (is_autocasts_own(frame)) continue;
    if (store::is_standard_library(frame)) continue;  // contextlib
    if (!store::is_users_own(frame, data.torch_folders)) return std::nullopt;
    return frame;
  }
  return std::nullopt;
}

Stays stays_in(const store::RunData& data, std::uint32_t region) {
  Stays stays;
  for (const store::RegionUse& use : data.region_uses) {
    if (use.region != region) continue;
    stays.entered += use.entered;
    stays.exited += use.exited;
    stays.most_optimizer_steps = std::max(stays.most_optimizer_steps, use.most_optimizer_steps);
  }
  return stays;
}

bool spans_steps(const store::RunData& data, const store::Region& region, std::uint64_t steps) {
  // Without its cache a region that goes on serves nothing old.
  return is_context(region) && region.enabled && region.cache_enabled &&
         stays_in(data, region.id).most_optimizer_steps >= steps;
}

std::vector<std::uint64_t> times_of_uses(const store::RunData& data) {
  std::vector<std::uint64_t> times(data.operator_uses.size() + 1);
  for (const store::UseCount& count : data.use_counts) times[count.use] += count.times;
  return times;
}

std::vector<std::uint64_t> times_of_facts(const store::RunData& data) {
  std::vector<std::uint64_t> times(data.facts.size() + 1);
  for (const store::FactCount& count : data.fact_counts) times[count.fact] += count.times;
  return times;
}

std::vector<Processes> processes_of_regions(const store::RunData& data) {
  std::vector<Processes> processes(data.regions.size() + 1);
  for (const store::RegionUse& use : data.region_uses) processes[use.region].push_back(use.process);
  return processes;
}

std::vector<Processes> processes_of_uses(const store::RunData& data) {
  std::vector<Processes> processes(data.operator_uses.size() + 1);
  for (const store::UseCount& count : data.use_counts)
    if (count.times > 0) processes[count.use].push_back(count.process);
  return processes;
}

bool share_one(const Processes& left, const Processes& right) {
  auto l = left.begin();
  for (auto r = right.begin(); l != left.end() && r != right.end();) {
    if (*l == *r) return true;
    *l < *r ? ++l : ++r;
  }
  return false;
}

FilePlace place_of(const store::RunData& data, std::uint32_t stack) {
  const store::CodeLocation at = data.user_location(stack).value_or(store::CodeLocation());
  return {at.file, at.line};
}

std::string place_text(const store::RunData& data, std::uint32_t stack) {
  const auto [file, line] = place_of(data, stack);
  return file.substr(file.rfind('/') + 1) + ":" + std::to_string(line);
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
