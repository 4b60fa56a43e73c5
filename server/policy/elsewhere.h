// What PyTorch's own autocast of a device does with an operator, wherever it was called: each device has lists of its
// own, so that a run on one says nothing of the dtypes on another.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/policy/decide.h"

namespace castscope::policy {

// Of the floating-point arguments that an operator is given under autocast.
enum class Given : std::uint8_t { kLow, kFloat32, kMixed };  // all in lower precision; none; some

enum class Computed : std::uint8_t { kLow, kFloat32, kRaises };  // what it computes in then

// `device`: "cpu", "cuda", "xpu" or "mps"; nothing is decided on others, every operator is left alone there.
Decision on_device(std::string_view device, const OperatorName& op);
Computed computes_on(std::string_view device, const OperatorName& op, Given given);

struct Elsewhere {
  std::string_view device;
  CastPolicy policy{};  // what autocast does there, with it or with what it is made of
  Computed computes{};
  bool operator==(const Elsewhere&) const = default;
};
// The other devices on which autocast computes the operator in another precision than on `device`, given the same.
std::vector<Elsewhere> elsewhere(std::string_view device, const OperatorName& op, Given given);

}  // namespace castscope::policy
