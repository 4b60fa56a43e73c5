#include "server/policy/cast_policy.h"

#include <algorithm>

namespace castscope::policy {

std::string_view name(CastPolicy policy) { return kCastPolicyNames[static_cast<std::size_t>(policy)]; }

std::optional<CastPolicy> cast_policy_of(std::string_view name) {
  const auto found = std::find(kCastPolicyNames.begin(), kCastPolicyNames.end(), name);
  if (found == kCastPolicyNames.end()) return std::nullopt;
  return static_cast<CastPolicy>(found - kCastPolicyNames.begin());
}

std::string_view meaning(CastPolicy policy) {
  constexpr std::array<std::string_view, 7> kMeanings = {
      "its floating-point arguments are cast to the lower precision",
      "its floating-point arguments are cast to float32",
      "its dtype argument is float32 unless the caller gives one; arguments stay as they are",
      "it is called with dtype=float32; arguments stay as they are",
      "its floating-point arguments are cast to the widest dtype among them",
      "it raises an error",
      "its arguments stay as they are, as outside autocast",
  };
  return kMeanings[static_cast<std::size_t>(policy)];
}

Dtype default_of(std::string_view device) { return device == "cpu" ? Dtype::kBFloat16 : Dtype::kFloat16; }

std::string_view name(Dtype dtype) { return kDtypeNames[static_cast<std::size_t>(dtype)]; }

}  // namespace castscope::policy
