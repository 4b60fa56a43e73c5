// Knows operators by their names: which of them compute, which cast, and how autocast treats them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "server/exported/program/program.h"
#include "server/policy/cast_policy.h"

namespace castscope::exported {

enum class OperatorKind : std::uint8_t {
  kComputes,
  kCasts,   // to a dtype that it is given, or another tensor's
  kMoves,   // views, copies, new tensors: values as they are
  kChecks,  // _assert_tensor_metadata
  kOther,   // symbols, assertions
};
OperatorKind kind_of(const Node&);

// The operator raises when its floating-point tensors are not of one dtype: matrix products and convolutions.
bool wants_one_dtype(const Node&);
// The operator gives the dtype of its first tensor, whatever the dtype of its weights: normalisations.
bool follows_first(const Node&);
// The operator is made of other operators, which autocast casts though it does not know this one.
bool holds_others(const Node&);
// The operator writes into its first argument and gives it back.
bool is_in_place(const Node&);
// The operator is PyTorch's own, so that its dtypes follow PyTorch's rules.
bool is_pytorchs(const Node&);

// Looks the operator up in autocast's list for this device; passthrough for operators that are not on it, and on
// unknown devices.
policy::CastPolicy autocast_policy(const Node&, const std::string& device);
// Returns the dtype that a region of this device casts to when it is given none.
std::optional<Dtype> default_dtype(const std::string& device);

// Returns the dtype that the call asks for; nothing when it asks for none.
std::optional<Dtype> dtype_argument(const Node&);
// Returns "linear" for aten::linear.
std::string short_name(const Node&);

}  // namespace castscope::exported
