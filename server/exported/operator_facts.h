// What is known of operators by their names: which compute, which cast, and what autocast makes of them.
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

// It raises when its floating-point tensors are not of one dtype: matrix products and convolutions.
bool wants_one_dtype(const Node&);
// It gives the dtype of its first tensor, whatever that of its weights: normalisations.
bool follows_first(const Node&);
// It is made of others, which autocast casts though it does not know this one.
bool holds_others(const Node&);
// Of its first argument, which it writes into and gives back.
bool is_in_place(const Node&);
// PyTorch's own, whose dtypes follow PyTorch's rules.
bool is_pytorchs(const Node&);

// By autocast's list of this device; passthrough for what is not on it, and on devices that are not known.
policy::CastPolicy autocast_policy(const Node&, const std::string& device);
// What a region of this device casts to when it is given no dtype.
std::optional<Dtype> default_dtype(const std::string& device);

// The dtype that it was told to give; nothing = it is told none.
std::optional<Dtype> dtype_argument(const Node&);
// "linear" for aten::linear.
std::string short_name(const Node&);

}  // namespace castscope::exported
