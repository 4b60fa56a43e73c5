#include "server/rules/evidence/operators/operators.h"

#include <algorithm>

#include "server/rules/evidence/operators/matrix_products.h"

namespace castscope::rules {
namespace {

// Products that matrix_products.h does not have.
constexpr std::string_view kProducts[] = {"addmv",
                                          "addr",
                                          "einsum",
                                          "tensordot",
                                          "inner",
                                          "conv1d",
                                          "conv2d",
                                          "conv3d",
                                          "conv_tbc",
                                          "convolution",
                                          "conv_transpose1d",
                                          "conv_transpose2d",
                                          "conv_transpose3d",
                                          "chain_matmul",
                                          "linalg_multi_dot",
                                          "scaled_dot_product_attention"};

constexpr std::string_view kMatrixWork[] = {
    "addmv", "dot", "einsum", "bilinear", "chain_matmul", "multi_head_attention_forward", "inner", "tensordot"};
// A name that contains one of these is matrix work: backends have forms of their own
// ("_scaled_dot_product_flash_attention", "cudnn_convolution").
constexpr std::string_view kMatrixWorkParts[] = {
    "convolution", "scaled_dot_product", "attention",        "lstm",      "gru",
    "rnn",         "linalg_matmul",      "linalg_multi_dot", "grouped_mm"};

// These are on no list of autocast's, but the operators that they are made of are.
constexpr std::string_view kMadeOfProducts[] = {"einsum", "tensordot", "inner", "chain_matmul"};

}  // namespace

std::string_view base_name(std::string_view op) { return op.substr(0, op.find('.')); }

std::string short_name(std::string_view op) {
  constexpr std::string_view kOwn = "aten::";
  op = base_name(op);
  return std::string(op.starts_with(kOwn) ? op.substr(kOwn.size()) : op);
}

bool is_one_of(std::string_view name, std::span<const std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_made_of_products(std::string_view op) { return is_one_of(short_name(op), kMadeOfProducts); }

std::string work_of(std::string_view op) {
  std::string name = short_name(op);
  for (const std::string_view prefix : {"native_", "_"})
    if (name.starts_with(prefix)) name.erase(0, prefix.size());
  return name;
}

bool is_product(std::string_view op) {
  const std::string name = short_name(op);
  return is_matrix_product(name) || is_one_of(name, kProducts);
}

bool is_matrix_work(std::string_view op) {
  op = base_name(op);
  if (const auto space = op.find("::"); space != std::string_view::npos) op.remove_prefix(space + 2);
  while (op.starts_with('_')) op.remove_prefix(1);
  if (is_matrix_product(op) || is_one_of(op, kMatrixWork)) return true;
  if (op.starts_with("conv") && !op.starts_with("convert")) return true;
  return std::any_of(std::begin(kMatrixWorkParts), std::end(kMatrixWorkParts),
                     [&](std::string_view part) { return op.find(part) != std::string_view::npos; });
}

}  // namespace castscope::rules
