// Decides how PyTorch's own autocast of a device treats an operator, wherever it was called: each device has its own
// lists, so a run on one device says nothing of the dtypes on another.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/policy/decide.h"

namespace castscope::policy {

// Says which dtypes the floating-point arguments of an operator under autocast have.
enum class Given : std::uint8_t { kLow, kFloat32, kMixed };  // all in lower precision; none; some

enum class Computed : std::uint8_t { kLow, kFloat32, kRaises };  // the dtype that it then computes in

// `device` is "cpu", "cuda", "xpu" or "mps"; on other devices every operator is left alone.
Decision on_device(std::string_view device, const OperatorName& op);
Computed computes_on(std::string_view device, const OperatorName& op, Given given);

struct Elsewhere {
  std::string_view device;
  CastPolicy policy{};  // autocast's policy there for the operator, or for the operators that it is made of
  Computed computes{};
  bool operator==(const Elsewhere&) const = default;
};
// Returns the other devices on which autocast computes the operator in another precision than on `device`, given the
// same arguments.
std::vector<Elsewhere> elsewhere(std::string_view device, const OperatorName& op, Given given);

}  // namespace castscope::policy
