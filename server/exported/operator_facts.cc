#include "server/exported/operator_facts.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "server/policy/decide.h"
#include "server/policy/load.h"
#include "server/rules/evidence/operators/matrix_products.h"

namespace castscope::exported {
namespace {

// These names leave out "aten::".
constexpr std::array<std::string_view, 7> kCasts = {"_to_copy", "to", "type_as", "bfloat16", "half", "float", "double"};
constexpr std::array<std::string_view, 66> kMoves = {"_reshape_alias",
                                                     "_unsafe_view",
                                                     "alias",
                                                     "arange",
                                                     "as_strided",
                                                     "broadcast_to",
                                                     "chunk",
                                                     "clone",
                                                     "contiguous",
                                                     "copy",
                                                     "copy_",
                                                     "detach",
                                                     "detach_",
                                                     "diagonal",
                                                     "empty",
                                                     "empty_like",
                                                     "expand",
                                                     "expand_as",
                                                     "eye",
                                                     "fill",
                                                     "fill_",
                                                     "flatten",
                                                     "flip",
                                                     "full",
                                                     "full_like",
                                                     "lift_fresh_copy",
                                                     "linspace",
                                                     "matrix_H",
                                                     "mH",
                                                     "mT",
                                                     "moveaxis",
                                                     "movedim",
                                                     "narrow",
                                                     "new_empty",
                                                     "new_full",
                                                     "new_ones",
                                                     "new_zeros",
                                                     "numpy_T",
                                                     "ones",
                                                     "ones_like",
                                                     "permute",
                                                     "rand",
                                                     "randn",
                                                     "repeat",
                                                     "reshape",
                                                     "roll",
                                                     "scalar_tensor",
                                                     "select",
                                                     "slice",
                                                     "split",
                                                     "split_with_sizes",
                                                     "squeeze",
                                                     "squeeze_",
                                                     "swapaxes",
                                                     "t",
                                                     "tensor_split",
                                                     "transpose",
                                                     "unbind",
                                                     "unflatten",
                                                     "unfold",
                                                     "unsqueeze",
                                                     "view",
                                                     "view_as",
                                                     "zero_",
                                                     "zeros",
                                                     "zeros_like"};
constexpr std::array<std::string_view, 7> kOneDtype = {
    "einsum", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "convolution", "prelu"};  // and matrix products

constexpr std::array<std::string_view, 12> kHoldsOthers = {"bilinear", "chain_matmul", "einsum",    "gru",
                                                           "gru_cell", "inner",        "lstm",      "lstm_cell",
                                                           "rnn_relu", "rnn_tanh",     "tensordot", "linalg_multi_dot"};

constexpr std::array<std::string_view, 10> kFollowsFirst = {"layer_norm",
                                                            "native_layer_norm",
                                                            "group_norm",
                                                            "native_group_norm",
                                                            "batch_norm",
                                                            "native_batch_norm",
                                                            "instance_norm",
                                                            "rms_norm",
                                                            "_native_batch_norm_legit",
                                                            "_native_batch_norm_legit_no_training"};

constexpr std::string_view kAten = "aten::";

std::string_view aten_name(const Node& node) {
  const std::string_view op = node.op;
  return op.starts_with(kAten) ? op.substr(kAten.size()) : "";
}

template <std::size_t N>
bool holds(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Returns null where PyTorch ships no list for the device.
const policy::Policy* list_of(const std::string& device) {
  static auto* const lists = new std::map<std::string, std::optional<policy::Policy>>();
  const auto [at, is_new] = lists->try_emplace(device);
  const bool is_known =
      std::find(policy::kDeviceNames.begin(), policy::kDeviceNames.end(), device) != policy::kDeviceNames.end() &&
      device != "any";
  if (is_new && is_known) {
    if (auto loaded = policy::load("torch-" + device); loaded.ok()) at->second = *std::move(loaded);
  }
  return at->second ? &*at->second : nullptr;
}

}  // namespace

OperatorKind kind_of(const Node& node) {
  if (node.op == "prims::convert_element_type") return OperatorKind::kCasts;
  const std::string_view name = aten_name(node);
  if (name.empty()) return node.op.find("::") == std::string::npos ? OperatorKind::kOther : OperatorKind::kComputes;
  if (name == "_assert_tensor_metadata") return OperatorKind::kChecks;
  if (name.starts_with("_assert") || name.starts_with("sym_")) return OperatorKind::kOther;
  if (holds(kCasts, name)) return OperatorKind::kCasts;
  return holds(kMoves, name) ? OperatorKind::kMoves : OperatorKind::kComputes;
}

bool wants_one_dtype(const Node& node) {
  return rules::is_matrix_product(aten_name(node)) || holds(kOneDtype, aten_name(node));
}

bool follows_first(const Node& node) { return holds(kFollowsFirst, aten_name(node)); }

bool holds_others(const Node& node) { return holds(kHoldsOthers, aten_name(node)); }

bool is_in_place(const Node& node) {
  const std::string_view name = aten_name(node);
  return name.ends_with('_') && !name.ends_with("__");
}

bool is_pytorchs(const Node& node) { return node.op.starts_with(kAten) || node.op.starts_with("prims::"); }

policy::CastPolicy autocast_policy(const Node& node, const std::string& device) {
  const policy::Policy* const list = list_of(device);
  if (list == nullptr || aten_name(node).empty()) return policy::CastPolicy::kPassthrough;
  return policy::decide(*list, {node.op, node.overload.empty() ? "default" : node.overload}).policy;
}

std::optional<Dtype> default_dtype(const std::string& device) {
  if (device == "cpu") return Dtype::kBFloat16;
  if (device == "cuda" || device == "xpu" || device == "mps") return Dtype::kFloat16;
  return std::nullopt;
}

std::optional<Dtype> dtype_argument(const Node& node) {
  for (const Argument& argument : node.arguments) {
    if (argument.dtype) return argument.dtype;
  }
  return std::nullopt;
}

std::string short_name(const Node& node) {
  const std::string_view name = aten_name(node);
  return name.empty() ? node.op : std::string(name);
}

}  // namespace castscope::exported
