#include "server/rules/evidence/operators/not_cast.h"

#include <algorithm>
#include <array>

#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/operators/script_autocast.h"
#include "server/rules/evidence/operators/uses.h"
#include "server/rules/evidence/places/regions.h"
#include "server/store/run/names.h"

namespace castscope::rules {
namespace {

constexpr std::array<std::string_view, kNotCastReasons> kNames = {
    "none",       "already",      "integer",         "not_floating", "float64",
    "number",     "other_device", "in_place_or_out", "not_listed",   "excluded",
    "sets_dtype", "within",       "region_disabled", "no_region"};

bool is_integer(std::uint8_t dtype) {
  const std::string_view name = store::dtype_name(dtype);
  return name == "bool" || name.starts_with("int") || name.starts_with("uint");
}

// Includes float8 and its like, which autocast takes for floating.
bool is_floating_at_all(std::uint8_t dtype) { return store::dtype_name(dtype).find("float") != std::string_view::npos; }

bool is_one(const lanes::Operand& operand, std::uint8_t flag) { return (operand.flags & flag) != 0; }

// Returns why nothing could be cast outside of an enabled region of the operator's device; kNone inside of one.
NotCast outside(const store::RunData& data, const store::OperatorUse& use) {
  if (const store::Region* const region = region_of_device(data, use)) {
    return region->enabled ? NotCast::kNone : NotCast::kRegionDisabled;
  }
  for (store::RegionId id = use.region; id != 0; id = data.regions[id].parent)
    if (data.regions[id].enabled) return NotCast::kOtherDevice;
  return NotCast::kNoRegion;
}

// Returns why autocast casts such an argument on no device.
NotCast never_cast(const lanes::Operand& operand) {
  if (is_one(operand, lanes::kOperandNumber)) return NotCast::kNumber;
  if (is_integer(operand.dtype)) return NotCast::kInteger;
  if (!is_floating_at_all(operand.dtype)) return NotCast::kNotFloating;
  if (operand.dtype == kDouble) return NotCast::kFloat64;
  return is_one(operand, lanes::kOperandElsewhere) ? NotCast::kOtherDevice : NotCast::kNone;
}

// The operator is in a region of a script, which TorchScript's autocast follows.
bool is_for_script(const store::RunData& data, const store::OperatorUse& use) {
  if (!use.is(lanes::kUseScript)) return false;
  const store::Region* const region = region_of_device(data, use);
  return region != nullptr && region->kind == lanes::RegionKind::kScript;
}

// The pass casts plain tensors: an argument that is Optional or in a list stays as it is, whatever its dtype.
NotCast of_script(const store::OperatorUse& use, const lanes::Operand& operand) {
  if (script_policy(use.op) == ScriptPolicy::kNone) return NotCast::kNotListed;
  return use.computed == operand.dtype ? NotCast::kAlready : NotCast::kNone;
}

}  // namespace

std::string_view name(NotCast why) { return kNames[static_cast<std::size_t>(why)]; }

std::string words(NotCast why, std::uint8_t dtype) {
  switch (why) {
    case NotCast::kNone:
      return "";
    case NotCast::kAlready:
      return "already in " + std::string(store::dtype_name(dtype));
    case NotCast::kInteger:
      return "an integer tensor";
    case NotCast::kNotFloating:
      return "no floating-point tensor";
    case NotCast::kFloat64:
      return "float64, which autocast leaves alone";
    case NotCast::kNumber:
      return "a Python number";
    case NotCast::kOtherDevice:
      return "on another device than the region's";
    case NotCast::kInPlaceOrOut:
      return "in place or out=, a form for which autocast has no kernel";
    case NotCast::kNotListed:
      return "the operator is not on autocast's list for this device";
    case NotCast::kExcluded:
      return "excluded by the policy";
    case NotCast::kSetsDtype:
      return "autocast sets the operator's dtype, and it converts inside";
    case NotCast::kWithin:
      return "cast by an operator that it calls";
    case NotCast::kRegionDisabled:
      return "autocast is switched off here";
    case NotCast::kNoRegion:
      return "outside any autocast region";
  }
  return "";
}

CastReasons::CastReasons(const store::RunData& data) : data_(data), enforced_(data) {
  for (const store::Site& site : data.sites)
    if (site.cause == lanes::Cause::kAutocast && site.has_dtypes()) casts_.emplace(site.stack, &site);
}

bool CastReasons::is_excluded(const store::OperatorUse& use, std::size_t i) const {
  const policy::Decision* const decided = enforced_.of(use);
  if (decided == nullptr) return false;
  const policy::Decision& decision = *decided;
  if (decision.policy == policy::CastPolicy::kPassthrough)
    return policy::known_to_autocast(policy::operator_called(use.op));
  const bool lowers = decision.policy == policy::CastPolicy::kLowerPrecision;
  if (decision.policy == policy::CastPolicy::kFp32 && is_product(use.op)) return true;  // PyTorch would lower it
  const std::string name = i < use.argument_names.size() ? use.argument_names[i] : "";
  const auto& kept = decision.never_cast;
  return lowers && !name.empty() && std::find(kept.begin(), kept.end(), name) != kept.end();
}

// Explains an argument that an autocast kernel handed on as it was.
NotCast CastReasons::of_kernel(const store::OperatorUse& use, std::size_t i) const {
  const lanes::Operand& operand = use.operands[i];
  const bool same = use.computed == operand.dtype;
  if (is_excluded(use, i) && (!same || operand.dtype == kFloat)) return NotCast::kExcluded;
  if (same) return NotCast::kAlready;
  return use.computed == kFloat && is_low(operand.dtype) ? NotCast::kSetsDtype : NotCast::kNone;
}

// A recurrent cell's products cast, whatever the cell gives back: its state keeps the dtype in which it came.
NotCast CastReasons::by_its_products(const store::OperatorUse& use, const lanes::Operand& operand) const {
  const auto [begin, end] = casts_.equal_range(use.stack);
  NotCast why = NotCast::kNone;
  for (auto cast = begin; cast != end; ++cast) {
    const store::Site& site = *cast->second;
    if (site.region != use.region || !is_low(site.to) || !is_product(site.op)) continue;
    if (site.from == operand.dtype) return NotCast::kWithin;
    if (site.to == operand.dtype) why = NotCast::kAlready;
  }
  return why;
}

// An operator without a kernel may call one that has: nll_loss_nd calls nll_loss, whose casts stand at the same place,
// under its own name. The casts of another operator of the line do not explain why this one computed in a dtype that it
// was not given.
NotCast CastReasons::without_kernel(const store::OperatorUse& use, const lanes::Operand& operand) const {
  const bool lowered = is_low(use.computed) && operand.dtype == kFloat && has_dimensions(operand);
  if (lowered && !use.is(lanes::kUseWrites)) return NotCast::kWithin;
  if (is_matrix_work(use.op))
    if (const NotCast why = by_its_products(use, operand); why != NotCast::kNone) return why;
  const bool promotes = std::ranges::any_of(use.operands, [&](const lanes::Operand& other) {
    return other.dtype == use.computed && is_floating_tensor(other) && has_dimensions(other);
  });
  const auto [begin, end] = casts_.equal_range(use.stack);
  for (auto cast = begin; cast != end; ++cast) {
    const store::Site& site = *cast->second;
    const bool its_own =
        short_name(use.op) != short_name(site.op) && short_name(use.op).starts_with(short_name(site.op));
    if (site.to != use.computed || (!its_own && promotes)) continue;
    if (site.from == operand.dtype && short_name(site.op) != short_name(use.op)) return NotCast::kWithin;
    if (its_own && operand.dtype == use.computed) return NotCast::kAlready;
  }
  return NotCast::kNotListed;
}

NotCast CastReasons::of(const store::OperatorUse& use, std::size_t i) const {
  const lanes::Operand& operand = use.operands[i];
  const bool handed_on = operand.entered != kNoDtype;
  if ((handed_on && operand.entered != operand.dtype) || use.is(lanes::kUseConverts)) return NotCast::kNone;
  if (const NotCast why = outside(data_, use); why != NotCast::kNone)
    return use.is(lanes::kUseScript) ? NotCast::kNone : why;  // a script's regions are in its graph
  if (const NotCast why = never_cast(operand); why != NotCast::kNone) return why;
  if (is_for_script(data_, use)) return of_script(use, operand);
  if (handed_on) return of_kernel(use, i);
  if (use.is(lanes::kUseEligible)) return use.computed == operand.dtype ? NotCast::kAlready : NotCast::kNone;
  if (use.is(lanes::kUseSiblingEligible)) return NotCast::kInPlaceOrOut;
  return without_kernel(use, operand);
}

}  // namespace castscope::rules
