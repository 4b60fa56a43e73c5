// Explains why autocast left an argument of an operator as it was given. No other code decides that. The evidence comes
// from deep steps; outside of them only the number of pass-throughs is known.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "server/rules/evidence/operators/enforced_decisions.h"
#include "server/store/run/run_data.h"

namespace castscope::rules {

// The list is closed; the words of `name` stand in reports. A number is not an argument that could be cast, and a
// conversion (`.to()`) none that autocast would cast.
enum class NotCast : std::uint8_t {
  kNone = 0,        // it was cast, or the reason is not known
  kAlready,         // the operator takes the dtype that it has
  kInteger,         // an integer or a bool
  kNotFloating,     // complex, quantized
  kFloat64,         // autocast leaves double precision alone
  kNumber,          // a Python number
  kOtherDevice,     // it, or the operator, is on another device than the region's
  kInPlaceOrOut,    // the operator's form writes to an argument, and autocast has a kernel for the other form alone
  kNotListed,       // autocast of this device has no kernel for the operator
  kExcluded,        // the policy that castscope enforced excludes it
  kSetsDtype,       // autocast sets the operator's dtype argument, and the operator converts inside
  kWithin,          // autocast has no kernel for the operator, but casts in those that it calls
  kRegionDisabled,  // the innermost region of its device is switched off
  kNoRegion,        // no region is open
};
inline constexpr std::size_t kNotCastReasons = static_cast<std::size_t>(NotCast::kNoRegion) + 1;

// Returns "already" or "in_place_or_out", as JSON has it.
std::string_view name(NotCast);
// Returns "already in bfloat16", "float64, which autocast leaves alone"; "" for kNone.
std::string words(NotCast, std::uint8_t dtype);

class CastReasons {
 public:
  explicit CastReasons(const store::RunData&);  // the data must outlive this
  // Explains the operand at this position in `use.operands`.
  NotCast of(const store::OperatorUse&, std::size_t operand) const;

 private:
  NotCast of_kernel(const store::OperatorUse&, std::size_t operand) const;
  NotCast by_its_products(const store::OperatorUse&, const lanes::Operand&) const;
  NotCast without_kernel(const store::OperatorUse&, const lanes::Operand&) const;
  bool is_excluded(const store::OperatorUse&, std::size_t operand) const;

  const store::RunData& data_;
  const EnforcedDecisions enforced_;
  std::multimap<store::StackId, const store::Site*> casts_;  // autocast's, by stack
};

}  // namespace castscope::rules
