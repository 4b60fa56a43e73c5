#include "server/rules/evidence/operators/script_autocast.h"

#include "server/rules/evidence/operators/operators.h"

namespace castscope::rules {
namespace {

constexpr std::string_view kPromoted[] = {"addcdiv", "addcmul",   "atan2", "bilinear",  "cat", "_cat", "cross", "dot",
                                          "equal",   "index_put", "stack", "tensordot", "add", "sub",  "mul",   "div"};
constexpr std::string_view kLowered[] = {"_convolution",
                                         "_convolution_nogroup",
                                         "conv1d",
                                         "conv2d",
                                         "conv3d",
                                         "conv_tbc",
                                         "conv_transpose1d",
                                         "convolution",
                                         "cudnn_convolution",
                                         "cudnn_convolution_transpose",
                                         "prelu",
                                         "addmm",
                                         "addmv",
                                         "addr",
                                         "matmul",
                                         "mm",
                                         "mv",
                                         "linear",
                                         "addbmm",
                                         "baddbmm",
                                         "bmm",
                                         "_thnn_fused_lstm_cell",
                                         "_thnn_fused_gru_cell",
                                         "lstm_cell",
                                         "gru_cell",
                                         "rnn_tanh_cell",
                                         "rnn_relu_cell"};
constexpr std::string_view kHeld[] = {"native_layer_norm",
                                      "acos",
                                      "asin",
                                      "cosh",
                                      "erfinv",
                                      "exp",
                                      "expm1",
                                      "log",
                                      "log10",
                                      "log2",
                                      "log1p",
                                      "reciprocal",
                                      "rsqrt",
                                      "sinh",
                                      "tan",
                                      "pow",
                                      "softplus",
                                      "gelu",
                                      "layer_norm",
                                      "group_norm",
                                      "frobenius_norm",
                                      "nuclear_norm",
                                      "cosine_similarity",
                                      "cosine_embedding_loss",
                                      "nll_loss",
                                      "nll_loss2d",
                                      "hinge_embedding_loss",
                                      "kl_div",
                                      "l1_loss",
                                      "smooth_l1_loss",
                                      "mse_loss",
                                      "margin_ranking_loss",
                                      "multilabel_margin_loss",
                                      "soft_margin_loss",
                                      "triplet_margin_loss",
                                      "multi_margin_loss",
                                      "binary_cross_entropy_with_logits",
                                      "dist",
                                      "pdist",
                                      "cdist",
                                      "renorm",
                                      "prod",
                                      "softmax",
                                      "log_softmax",
                                      "cumprod",
                                      "cumsum",
                                      "sum"};

}  // namespace

ScriptPolicy script_policy(std::string_view op) {
  const std::string name = short_name(op);
  if (is_one_of(name, kLowered)) return ScriptPolicy::kLowers;
  if (is_one_of(name, kHeld)) return ScriptPolicy::kHolds;
  return is_one_of(name, kPromoted) ? ScriptPolicy::kPromotes : ScriptPolicy::kNone;
}

}  // namespace castscope::rules
