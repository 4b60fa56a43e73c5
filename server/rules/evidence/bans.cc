#include "server/rules/evidence/bans.h"

#include "server/policy/compiled.h"
#include "server/rules/evidence/operators/enforced_policy.h"
#include "server/rules/evidence/operators/operators.h"

namespace castscope::rules {
namespace {

// The text of castscope's kernel where the policy has no message (agent/enforce/autocast_kernel.cc), and the text of
// PyTorch (aten/src/ATen/autocast_mode.cpp).
constexpr std::string_view kByPolicy = " is banned under autocast by the policy";
constexpr std::string_view kByPyTorch = "unsafe to autocast";
// A recording keeps this much of an error's text, or a character less (agent/errors/errors.cc).
constexpr std::size_t kMostText = 500;

bool is_message(std::string_view text, const std::string& message) {
  return text == message || (text.size() + 4 > kMostText && message.starts_with(text));
}

std::optional<Ban> banned_by(const policy::Policy& policy, const std::string& name, std::string_view text) {
  for (const auto& [op, rule] : policy.operators)
    if (rule.policy == policy::CastPolicy::kBanned && is_message(text, rule.message))
      return Ban{short_name(op.name), name};
  for (const policy::ModuleRule& rule : policy.modules)
    if (rule.precision.by != nullptr)
      if (auto ban = banned_by(*rule.precision.by, name, text)) return ban;
  return std::nullopt;
}

}  // namespace

std::optional<Ban> ban_in(const store::RunData& data, std::string_view text) {
  if (text.empty()) return std::nullopt;
  if (const std::string name = enforced_policy(data); !name.empty()) {
    if (text.ends_with(kByPolicy)) return Ban{short_name(text.substr(0, text.size() - kByPolicy.size())), name};
    const auto policy = policy::restored(data.start.policy);
    if (policy.ok())
      if (auto ban = banned_by(*policy, name, text)) return ban;
  }
  if (text.find(kByPyTorch) == text.npos) return std::nullopt;
  constexpr std::string_view kEntropy = "binary_cross_entropy";
  return Ban{text.find(kEntropy) == text.npos ? "" : std::string(kEntropy), ""};
}

}  // namespace castscope::rules
