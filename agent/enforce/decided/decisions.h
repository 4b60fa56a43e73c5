// What the policy decides for an operator, on the side of the job: the same as server/policy/decide.h, which explains
// it, from the table that castscope made. No torch header here.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/enforce/decided/policy_table.h"

namespace castscope::enforce {

// Those whose autocast a policy may be for, in the order of PolicyTable's words.
enum class Device : std::uint8_t { kCpu, kCuda, kXpu, kMps };
inline constexpr std::array<std::string_view, 4> kDeviceWords = {"cpu", "cuda", "xpu", "mps"};

struct Decision {
  CastPolicy policy = CastPolicy::kPassthrough;
  bool ruled = false;  // somebody says so; else it is left alone as an operator without an autocast kernel is, and what
                       // it calls is not
  LowerDtype dtype = LowerDtype::kAmbient;
  const std::string* message = nullptr;                    // of a banned one
  std::array<const std::vector<std::string>*, 2> never{};  // arguments that keep their dtype; null = none
  bool operator==(const Decision&) const = default;
};

// Who carries out what the policy says of one operator on one device.
enum class By : std::uint8_t {
  kPyTorch,  // its own kernel does just that
  kAddress,  // its kernel casts each argument by itself: cached_cast casts to what the policy says instead
  kKernel    // a kernel of ours
};

// All that the policy says of one operator: by itself, and in the modules that have a rule.
class OperatorPlan {
 public:
  OperatorPlan(const PolicyTable& policy, const Overloaded& op);

  // `rule`: the module's, an index into PolicyTable::modules; -1 = the operator is in none that has a rule.
  const Decision& decide(int rule) const { return rule < 0 ? usual_ : in_module_[static_cast<std::size_t>(rule)]; }
  // `has_kernel`: PyTorch has an autocast kernel for it there. One that its list does not have is not known.
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

// Every operator of which the policy, one of its modules' rules or PyTorch's list says anything.
std::vector<Overloaded> operators_of(const PolicyTable& policy);

}  // namespace castscope::enforce
