"""The arguments of a generated call, where the schema alone does not make a call that computes."""

import torch


class Given:
    """A tensor: uniform between low and high, or the result of `made` on that. A constant one has no gradient."""

    def __init__(self, *shape, low=0.1, high=0.9, made=None, constant=False):
        self.shape, self.low, self.high, self.made, self.constant = shape, low, high, made, constant

    def tensor(self, generator):
        values = torch.rand(self.shape, generator=generator) * (self.high - self.low) + self.low
        return values if self.made is None else self.made(values)


def values(*numbers, shape=None, dtype=torch.int64):
    """Integers: indices, classes, signs."""
    return Given(made=lambda _: torch.tensor(numbers, dtype=dtype).reshape(shape or (-1,)))


def positive_definite(size=4):
    return Given(size, size, made=lambda of: of @ of.T + 2 * torch.eye(size))


def triangular(size=4):
    return Given(size, size, made=lambda of: torch.tril(of) + torch.eye(size))


def invertible(*shape):
    """A matrix in another shape, which linalg's tensor functions see as 4 × 4."""
    return Given(4, 4, made=lambda of: (of + 2 * torch.eye(4)).reshape(shape))


MATRIX, SPD, TALL = Given(4, 4), positive_definite(), Given(4, 3)
SIGNS = values(1, -1, 1, -1)
REDUCTION_MEAN = 1


def images(rank, channels=4, side=6):
    return Given(2, channels, *[side] * rank, low=-0.9)


def convolution(rank, **more):
    """Makes input, weight and bias; `more` says what else."""
    return {"input": images(rank), "weight": Given(4, 4, *[3] * rank, low=-0.5, high=0.5), "bias": Given(4), **more}


def spread(rank, *, transposed=False):
    """The numbers that all of the general convolutions need."""
    return {"stride": [1] * rank, "padding": [1] * rank, "dilation": [1] * rank, "transposed": transposed,
            "output_padding": [0] * rank, "groups": 1}


BACKEND = {"benchmark": False, "deterministic": True, "cudnn_enabled": False}
CUDNN = {"self": images(2), "weight": Given(4, 4, 3, 3), "padding": [1, 1], "stride": [1, 1], "dilation": [1, 1],
         "groups": 1}
ATTENTION = {"query": Given(2, 2, 4, 8), "key": Given(2, 2, 4, 8), "value": Given(2, 2, 4, 8)}
GRID_2D = {"grid": Given(2, 3, 3, 2, low=-0.9), "interpolation_mode": 0, "padding_mode": 0, "align_corners": False}
GRID_3D = GRID_2D | {"grid": Given(2, 3, 3, 3, 3, low=-0.9)}
NORM = {"input": Given(3, 4), "normalized_shape": [4], "weight": Given(4), "bias": Given(4)}
CLASSES = {"self": Given(3, 5), "target": values(0, 4, 2), "weight": Given(5, constant=True)}
CTC = {"log_probs": Given(5, 2, 4, made=lambda of: of.log_softmax(-1)), "targets": values(1, 2, 3, 1, shape=(2, 2))}
STFT = {"self": Given(32), "n_fft": 8, "window": Given(8), "return_complex": True}
LABELS = values(0, 2, -1, -1, 3, -1, -1, -1, 1, 2, 0, -1, shape=(3, 4))


def cell(gates, **hidden):
    """A cell with `gates` gates: the input is 4 wide, the state 3 wide."""
    return {"input": Given(2, 4), "hx": Given(2, 3), "w_ih": Given(3 * gates, 4), "w_hh": Given(3 * gates, 3),
            "b_ih": Given(3 * gates), "b_hh": Given(3 * gates), **hidden}


def fused_cell(gates, state):
    return {"input_gates": Given(2, 3 * gates), "hidden_gates": Given(2, 3 * gates), state: Given(2, 3),
            "input_bias": Given(3 * gates), "hidden_bias": Given(3 * gates)}


def resized(rank, **more):
    return {"self": Given(2, 2, *[4] * rank), "output_size": [7] * rank, **more}


PAIR = [Given(4, 4), Given(4, 4)]
CHAIN = [Given(3, 4), Given(4, 5), Given(5, 2)]

# By the operator's name without "aten::", or with its overload where they differ.
ARGUMENTS = {
    # products of matrices
    "_addmm_activation": {"self": Given(5), "mat1": Given(3, 4), "mat2": Given(4, 5)},
    "addbmm": {"self": Given(3, 5), "batch1": Given(2, 3, 4), "batch2": Given(2, 4, 5)},
    "addmm": {"self": Given(3, 5), "mat1": Given(3, 4), "mat2": Given(4, 5)},
    "addmv": {"self": Given(3), "mat": Given(3, 4), "vec": Given(4)},
    "addr": {"self": Given(3, 4), "vec1": Given(3), "vec2": Given(4)},
    "baddbmm": {"self": Given(2, 3, 5), "batch1": Given(2, 3, 4), "batch2": Given(2, 4, 5)},
    "bilinear": {"input1": Given(3, 4), "input2": Given(3, 5), "weight": Given(2, 4, 5), "bias": Given(2)},
    "bmm": {"self": Given(2, 3, 4), "mat2": Given(2, 4, 5)},
    "chain_matmul": {"matrices": CHAIN},
    "dot": {"self": Given(4), "tensor": Given(4)},
    "einsum": {"equation": "ij,jk->ik", "tensors": PAIR},
    "linalg_multi_dot": {"tensors": CHAIN},
    "linear": {"input": Given(3, 4), "weight": Given(5, 4), "bias": Given(5)},
    "mm": {"self": Given(3, 4), "mat2": Given(4, 5)},
    "mv": {"self": Given(3, 4), "vec": Given(4)},
    "tensordot": {"dims_self": [1], "dims_other": [0]},
    "vdot": {"self": Given(4), "other": Given(4)},
    # convolutions
    "_convolution": convolution(2, **spread(2), **BACKEND, allow_tf32=False),
    "_convolution.deprecated": convolution(2, **spread(2), **BACKEND),
    "_mps_convolution": {**CUDNN, "bias": Given(4)},
    "conv1d": convolution(1),
    "conv1d.padding": convolution(1, padding="same"),
    "conv2d": convolution(2),
    "conv2d.padding": convolution(2, padding="same"),
    "conv3d": convolution(3),
    "conv3d.padding": convolution(3, padding="same"),
    "conv_tbc": {"self": Given(6, 2, 4), "weight": Given(3, 4, 5), "bias": Given(5)},
    "conv_transpose1d": convolution(1),
    "conv_transpose2d": convolution(2),
    "conv_transpose3d": convolution(3),
    "convolution": convolution(2, **spread(2)),
    "cudnn_convolution": {**CUDNN, "benchmark": False, "deterministic": True, "allow_tf32": False},
    "cudnn_convolution_transpose": {**CUDNN, "output_padding": [0, 0], "benchmark": False, "deterministic": True,
                                    "allow_tf32": False},
    # attention, recurrent cells
    "_native_multi_head_attention": {
        "query": Given(2, 3, 8), "key": Given(2, 3, 8), "value": Given(2, 3, 8), "embed_dim": 8, "num_head": 2,
        "qkv_weight": Given(24, 8), "qkv_bias": Given(24), "proj_weight": Given(8, 8), "proj_bias": Given(8)},
    "_scaled_dot_product_flash_attention": ATTENTION,
    "scaled_dot_product_attention": {**ATTENTION, "attn_mask": Given(4, 4)},
    "_thnn_fused_gru_cell": fused_cell(3, "hx"),
    "_thnn_fused_lstm_cell": fused_cell(4, "cx"),
    "gru_cell": cell(3),
    "lstm_cell": cell(4, hx=[Given(2, 3), Given(2, 3)]),
    "rnn_relu_cell": cell(1),
    "rnn_tanh_cell": cell(1),
    "mkldnn_rnn_layer": {
        "input": Given(3, 2, 4), "weight0": Given(12, 4), "weight1": Given(12, 3), "weight2": Given(12),
        "weight3": Given(12), "hx_": Given(2, 3), "cx_": Given(2, 3), "reverse": False, "batch_sizes": [], "mode": 2,
        "hidden_size": 3, "num_layers": 1, "has_biases": True, "bidirectional": False, "batch_first": False,
        "train": True},
    # norms
    "batch_norm": {"input": Given(3, 4), "weight": Given(4), "bias": Given(4), "running_mean": Given(4),
                   "running_var": Given(4), "training": True, "momentum": 0.1, "eps": 1e-5, "cudnn_enabled": False},
    "frobenius_norm.dim": {"dim": [0]},
    "group_norm": {"input": Given(2, 4, 3), "num_groups": 2, "weight": Given(4), "bias": Given(4)},
    "layer_norm": NORM,
    "linalg_matrix_norm": {"ord": 1},
    "linalg_matrix_norm.str_ord": {},
    "native_layer_norm": {**NORM, "eps": 1e-5},
    "norm.ScalarOpt_dim": {"p": 2, "dim": [0]},
    "nuclear_norm.dim": {"dim": [0, 1]},
    "prelu": {"weight": Given(4)},
    "renorm": {"p": 2, "dim": 0, "maxnorm": 1.0},
    "rms_norm": {"input": Given(3, 4), "normalized_shape": [4], "weight": Given(4)},
    # losses
    "cosine_embedding_loss": {"target": SIGNS},
    "cross_entropy_loss": CLASSES,
    "ctc_loss.IntList": {**CTC, "input_lengths": [5, 5], "target_lengths": [2, 2]},
    "ctc_loss.Tensor": {**CTC, "input_lengths": values(5, 5), "target_lengths": values(2, 2)},
    "hinge_embedding_loss": {"target": SIGNS},
    "margin_ranking_loss": {"input1": Given(4), "input2": Given(4), "target": SIGNS},
    "multi_margin_loss": {**CLASSES, "p": 1, "margin": 1},
    "multilabel_margin_loss": {"self": Given(3, 4), "target": LABELS},
    "multilabel_margin_loss_forward": {"self": Given(3, 4), "target": LABELS, "reduction": REDUCTION_MEAN},
    "nll_loss": CLASSES,
    "nll_loss2d": {"self": Given(2, 3, 2, 2), "target": values(0, 1, 2, 0, 1, 2, 0, 1, shape=(2, 2, 2)),
                   "weight": Given(3, constant=True)},
    "poisson_nll_loss": {"log_input": True, "full": False, "eps": 1e-8, "reduction": REDUCTION_MEAN},
    "soft_margin_loss": {"target": Given(4, 4, made=lambda of: (of > 0.5).long() * 2 - 1)},
    # pooling, padding, sampling, resizing
    "_grid_sampler_2d_cpu_fallback": {"input": images(2), **GRID_2D},
    "adaptive_avg_pool3d": {"self": images(3), "output_size": [2, 2, 2]},
    "adaptive_max_pool3d": {"self": images(3), "output_size": [2, 2, 2]},
    "avg_pool3d": {"self": images(3), "kernel_size": [2, 2, 2]},
    "fractional_max_pool2d": {"self": images(2), "kernel_size": [2, 2], "output_size": [3, 3],
                              "random_samples": Given(2, 4, 2, constant=True)},
    "fractional_max_pool3d": {"self": images(3), "kernel_size": [2, 2, 2], "output_size": [3, 3, 3],
                              "random_samples": Given(2, 4, 3, constant=True)},
    "grid_sampler": {"input": images(2), **GRID_2D},
    "grid_sampler_2d": {"input": images(2), **GRID_2D},
    "grid_sampler_3d": {"input": images(3), **GRID_3D},
    "max_pool3d": {"self": images(3), "kernel_size": [2, 2, 2]},
    "max_unpool2d": {"self": Given(1, 1, 2, 2), "indices": values(0, 3, 8, 10, shape=(1, 1, 2, 2)),
                     "output_size": [4, 4]},
    "max_unpool3d": {"self": Given(1, 1, 2, 2, 2), "indices": values(*range(0, 64, 8), shape=(1, 1, 2, 2, 2)),
                     "output_size": [4, 4, 4], "stride": [2, 2, 2], "padding": [0, 0, 0]},
    "reflection_pad1d": {"self": images(1), "padding": [1, 1]},
    "reflection_pad2d": {"self": images(2), "padding": [1] * 4},
    "replication_pad1d": {"self": images(1), "padding": [1, 1]},
    "replication_pad2d": {"self": images(2), "padding": [1] * 4},
    "replication_pad3d": {"self": images(3), "padding": [1] * 6},
    "_upsample_bicubic2d_aa": resized(2, align_corners=False),
    "_upsample_bilinear2d_aa": resized(2, align_corners=False),
    "_upsample_nearest_exact1d": resized(1),
    "_upsample_nearest_exact2d": resized(2),
    "_upsample_nearest_exact3d": resized(3),
    "upsample_bicubic2d": resized(2, align_corners=False),
    "upsample_bilinear2d": resized(2, align_corners=False),
    "upsample_linear1d": resized(1, align_corners=False),
    "upsample_nearest1d": resized(1),
    "upsample_nearest2d": resized(2),
    "upsample_nearest3d": resized(3),
    "upsample_trilinear3d": resized(3, align_corners=False),
    # linear algebra
    "cdist": {"x1": Given(3, 4), "x2": Given(5, 4)},
    "cholesky": {"self": SPD},
    "cholesky_inverse": {"self": triangular()},
    "cholesky_solve": {"self": Given(4, 2), "input2": triangular()},
    "cross": {"self": Given(4, 3), "other": Given(4, 3), "dim": 1},
    "inverse": {"self": SPD},
    "linalg_cholesky": {"self": SPD},
    "linalg_cholesky_ex": {"self": SPD},
    "linalg_cond": {"self": SPD},
    "linalg_cond.p_str": {"self": SPD, "p": "nuc"},  # backward of "fro" complains of its own inverse_ex
    "linalg_eigh": {"self": SPD},
    "linalg_eigvalsh": {"self": SPD},
    "linalg_householder_product": {"input": TALL, "tau": Given(3)},
    "linalg_inv": {"A": SPD},
    "linalg_inv_ex": {"A": SPD},
    "linalg_lstsq": {"self": Given(5, 3), "b": Given(5, 2)},
    "linalg_matrix_rank": {"self": SPD, "tol": 0.01},
    "linalg_matrix_rank.atol_rtol_float": {"self": SPD, "atol": 0.01},
    "linalg_matrix_rank.atol_rtol_tensor": {"input": SPD, "atol": Given(low=0.01, high=0.02)},
    "linalg_matrix_rank.tol_tensor": {"input": SPD, "tol": Given(low=0.01, high=0.02)},
    "linalg_qr": {"A": TALL},
    "linalg_solve": {"A": SPD, "B": Given(4, 2)},
    "linalg_svd": {"A": TALL, "full_matrices": False},
    "linalg_svdvals": {"A": TALL},
    "linalg_tensorinv": {"self": invertible(4, 2, 2), "ind": 1},
    "linalg_tensorsolve": {"self": invertible(2, 2, 4), "other": Given(2, 2)},
    "lu_solve": {"self": Given(4, 2), "LU_data": SPD, "LU_pivots": values(1, 2, 3, 4, dtype=torch.int32)},
    "orgqr": {"self": TALL, "input2": Given(3)},
    "ormqr": {"self": TALL, "input2": Given(3), "input3": Given(4, 2)},
    "qr": {"self": TALL},
    "svd": {"self": TALL},
    "triangular_solve": {"self": Given(4, 2), "A": triangular()},
    # the rest
    "cat": {"tensors": PAIR},
    "cumprod": {"dim": 0},
    "cumsum": {"dim": 0},
    "fake_quantize_per_tensor_affine": {"scale": 0.1, "zero_point": 0, "quant_min": 0, "quant_max": 255},
    "index_copy": {"dim": 0, "index": values(0, 2), "source": Given(2, 4)},
    "index_put": {"indices": [values(0, 2)], "values": Given(2, 4)},
    "log_softmax.int": {"dim": 1},
    "logsumexp": {"dim": [0]},
    "nanquantile": {"q": Given(2), "dim": 1},
    "nanquantile.scalar": {"q": 0.3, "dim": 1},
    "pow.Scalar": {"self": 1.7},
    "pow.Tensor_Scalar": {"exponent": 1.7},
    "prod.dim_int": {"dim": 0},
    "quantile": {"q": Given(2), "dim": 1},
    "quantile.scalar": {"q": 0.3, "dim": 1},
    "scatter_add": {"dim": 0, "index": values(0, 1, 2, 3, 3, 2, 1, 0, shape=(2, 4)), "src": Given(2, 4)},
    "softmax.int": {"dim": 1},
    "stack": {"tensors": PAIR},
    "stft": STFT,
    "stft.center": {**STFT, "center": True},
    "sum.dim_IntList": {"dim": [0]},
    "view_as_complex": {"self": Given(4, 2)},
}
