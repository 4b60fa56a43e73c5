// The policy's decision for an operator, made in the job from the table that castscope wrote. It is the same as in
// server/policy/decide.h, which explains it. No torch header here.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/enforce/decided/policy_table.h"

namespace castscope::enforce {

// The devices whose autocast a policy may be for, in the order of PolicyTable's words.
enum class Device : std::uint8_t { kCpu, kCuda, kXpu, kMps };
inline constexpr std::array<std::string_view, 4> kDeviceWords = {"cpu", "cuda", "xpu", "mps"};

struct Decision {
  CastPolicy policy = CastPolicy::kPassthrough;
  bool ruled = false;  // a rule says so; else the operator is left alone like one without an autocast kernel, but the
                       // operators that it calls are not
  LowerDtype dtype = LowerDtype::kAmbient;
  const std::string* message = nullptr;                    // message of a banned operator
  std::array<const std::vector<std::string>*, 2> never{};  // arguments that keep their dtype; null = none
  bool operator==(const Decision&) const = default;
};

// Who carries out the policy for one operator on one device.
enum class By : std::uint8_t {
  kPyTorch,  // its own kernel does just that
  kAddress,  // its kernel casts each argument by itself: cached_cast casts to what the policy says instead
  kKernel    // a kernel of ours
};

// All that the policy says of one operator: by itself, and in each module that has a rule.
class OperatorPlan {
 public:
  OperatorPlan(const PolicyTable& policy, const Overloaded& op);

  // `rule` is the module's rule, an index into PolicyTable::modules; -1 = no module around the operator has one.
  const Decision& decide(int rule) const { return rule < 0 ? usual_ : in_module_[static_cast<std::size_t>(rule)]; }
  // `has_kernel`: PyTorch has an autocast kernel for it on this device. A kernel that PyTorch's list does not have is
  // not known.
  By who(Device device, bool has_kernel) const;
  bool depends_on_module() const { return !in_module_.empty(); }
  bool has_exceptions() const;  // some of its arguments are never cast, by itself or in a module
  bool applies_to(Device device) const;

 private:
  bool all(bool (*test)(const Decision&, CastPolicy), CastPolicy pytorchs) const;

  const PolicyTable& policy_;
  Decision usual_;
  std::vector<Decision> in_module_;
  std::array<std::optional<CastPolicy>, 4> pytorchs_;
};

// Every operator that the policy, a rule for a module or PyTorch's list names.
std::vector<Overloaded> operators_of(const PolicyTable& policy);

}  // namespace castscope::enforce
