#include "server/web/search/fields.h"

#include <algorithm>
#include <array>

#include "server/rules/rules.h"
#include "server/store/run/names.h"

namespace castscope::web {
namespace {

using timeline::ShadeKind;

constexpr std::array<FieldInfo, 18> kFields = {{
    {SearchField::kCause, "cause", "", "why it was cast"},
    {SearchField::kRole, "role", "", "what was cast: a weight, an input, …"},
    {SearchField::kDtype, "dtype", "", "the dtype cast from or to, or computed in"},
    {SearchField::kFrom, "from", "from_dtype", "the dtype cast from"},
    {SearchField::kTo, "to", "to_dtype", "the dtype cast to"},
    {SearchField::kModule, "module", "", "a module, and the modules in it"},
    {SearchField::kModel, "model", "", "the outermost module"},
    {SearchField::kOp, "op", "operator", "the operator"},
    {SearchField::kArgument, "argument", "", "the operator's argument that was cast"},
    {SearchField::kWeight, "weight", "", "the weight that was cast"},
    {SearchField::kRule, "rule", "", "what a finding of this rule is about"},
    {SearchField::kFile, "file", "", "a source file, or a line of it: train.py:12"},
    {SearchField::kFunction, "function", "", "the Python function"},
    {SearchField::kStack, "stack", "", "a line that it was called from, however far outwards"},
    {SearchField::kKind, "kind", "", "the kind of event: down, up, hit, operator, …"},
    {SearchField::kPhase, "phase", "", "forward or backward"},
    {SearchField::kCache, "cache", "why_not_cached", "why the cache kept no copy"},
    {SearchField::kRegion, "region", "", "an autocast region, and the regions in it"},
}};

std::vector<std::string> words(std::span<const std::string_view> list) { return {list.begin(), list.end()}; }

std::vector<std::string> kind_words() {
  std::vector<std::string> kinds = {std::string(kAnyCast)};
  for (int kind = 0; kind <= static_cast<int>(timeline::kLastShadeKind); ++kind)
    kinds.emplace_back(kind_word(static_cast<ShadeKind>(kind)));
  return kinds;
}

std::vector<std::string> rule_words() {
  std::vector<std::string> names;
  for (const rules::Rule* rule : rules::all_rules()) names.emplace_back(rule->name);
  return names;
}

std::vector<std::string> cache_words() {
  std::vector<std::string> reasons = words(store::why_not_cached_names());
  std::replace(reasons.begin(), reasons.end(), std::string(store::name(lanes::WhyNotCached::kNone)),
               std::string(kWasKept));
  return reasons;
}

template <typename Of>
std::vector<std::string> others_of(std::span<const std::string_view> list, std::string_view word) {
  const auto at = std::find(list.begin(), list.end(), word);
  if (at == list.end()) return {};
  return {std::string(shown_name(static_cast<Of>(at - list.begin())))};
}

std::vector<std::string> other_kinds(std::string_view word) {
  for (int i = 0; i <= static_cast<int>(timeline::kLastShadeKind); ++i) {
    const auto kind = static_cast<ShadeKind>(i);
    if (kind_word(kind) == word) return {std::string(timeline::name(kind)), std::string(shown_name(kind))};
  }
  return {};
}

}  // namespace

std::span<const FieldInfo> search_fields() { return kFields; }

const FieldInfo* find_field(std::string_view name) {
  const auto found = std::find_if(kFields.begin(), kFields.end(), [&](const FieldInfo& field) {
    return field.name == name || (!field.alias.empty() && field.alias == name);
  });
  return found == kFields.end() ? nullptr : &*found;
}

std::string_view name(SearchField field) { return kFields[static_cast<std::size_t>(field)].name; }

std::vector<std::string> closed_list(SearchField field) {
  switch (field) {
    case SearchField::kCause:
      return words(store::cause_names());
    case SearchField::kRole:
      return words(store::role_names());
    case SearchField::kDtype:
    case SearchField::kFrom:
    case SearchField::kTo:
      return words(store::dtype_names());
    case SearchField::kRule:
      return rule_words();
    case SearchField::kKind:
      return kind_words();
    case SearchField::kPhase:
      return words(store::phase_names());
    case SearchField::kCache:
      return cache_words();
    default:
      return {};
  }
}

std::vector<std::string> other_words(SearchField field, std::string_view word) {
  switch (field) {
    case SearchField::kCause:
      return others_of<lanes::Cause>(store::cause_names(), word);
    case SearchField::kDtype:
    case SearchField::kFrom:
    case SearchField::kTo:
      return {std::string(short_dtype(word))};
    case SearchField::kKind:
      return other_kinds(word);
    default:
      return {};
  }
}

std::string_view short_dtype(std::string_view dtype) {
  constexpr std::array<std::array<std::string_view, 2>, 6> kShort = {{{"float64", "fp64"},
                                                                      {"float32", "fp32"},
                                                                      {"float16", "fp16"},
                                                                      {"bfloat16", "bf16"},
                                                                      {"float8_e4m3fn", "fp8e4"},
                                                                      {"float8_e5m2", "fp8e5"}}};
  for (const auto& [whole, brief] : kShort) {
    if (whole == dtype) return brief;
  }
  return dtype;
}

std::string_view shown_name(lanes::Cause cause) {
  switch (cause) {
    case lanes::Cause::kUserTo:
      return "explicit to()";
    case lanes::Cause::kDtypeArgument:
      return "dtype argument";
    case lanes::Cause::kCustomCast:
      return "custom_fwd";
    case lanes::Cause::kScript:
      return "TorchScript";
    case lanes::Cause::kFsdp:
      return "FSDP";
    case lanes::Cause::kCompiled:
      return "torch.compile";
    case lanes::Cause::kReflatten:
      return "cuDNN RNN";
    case lanes::Cause::kPytorch:
      return "PyTorch itself";
    case lanes::Cause::kUnknown:
      return "cause not known";
    default:
      return store::name(cause);
  }
}

std::string_view shown_name(ShadeKind kind) {
  constexpr std::array<std::string_view, 19> kNames = {"cast down",
                                                       "cast up",
                                                       "cast, other dtype",
                                                       "cache hit",
                                                       "passed through",
                                                       "operator",
                                                       "autocast on",
                                                       "autocast off",
                                                       "step",
                                                       "deep step",
                                                       "cache cleared",
                                                       "optimizer step",
                                                       "gradient scaler",
                                                       "call of backward",
                                                       "values looked at",
                                                       "GPU kernel of a cast",
                                                       "GPU kernel",
                                                       "GPU copy or set",
                                                       "module"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view kind_word(ShadeKind kind) {
  if (kind == ShadeKind::kHit) return "hit";
  if (kind == ShadeKind::kPass) return "pass";
  return timeline::name(kind);
}

}  // namespace castscope::web
