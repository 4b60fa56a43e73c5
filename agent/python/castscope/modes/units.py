"""The things that are compared: operators, one unit each, at the level where all modes of PyTorch have the same ones.

The level is that of a dispatch mode (recorder.py): below autocast, so that dtypes are those which are computed in, and
below the operators that are only made of others (linear is addmm, einsum is bmm). Operators that only move,
view, cast or fill tensors are not units: modes differ freely in those, and they compute nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence


@dataclasses.dataclass(frozen=True)
class Line:
    """One place in the user's code. `line` is 1-based, 0 where it is unknown."""
    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclasses.dataclass(frozen=True)
class Unit:
    """One operator as a mode computed it.

    `arrived` and `makers` say where each of `input_dtypes` came from: the dtype that the value was made in, before
    casts, and the number of the unit that made it in this recording (-1: an argument, a weight, a constant).
    `caster` says who cast an input on the way, as far as it can be told: "script" is TorchScript's autocast pass.
    `node` is the schema of the operator of a graph that it is, or is a part of; `beyond` why TorchScript's pass casts
    nothing here whatever the operator is: "python", "off" or "no region". Both are empty where they are not known.
    """
    operator: str
    overload: str
    input_dtypes: tuple[str, ...]
    output_dtype: str | None
    stack: tuple[Line, ...] = ()
    module: str = ""
    shapes: tuple[tuple[int, ...], ...] = ()
    arrived: tuple[str, ...] = ()
    makers: tuple[int, ...] = ()
    caster: str = ""
    node: str = ""
    beyond: str = ""

    @property
    def line(self) -> Line | None:
        """The innermost line of the user's."""
        return self.stack[0] if self.stack else None

    @property
    def computed(self) -> str:
        """The dtypes it computed in, for people: `bfloat16`, or `bfloat16,float32→float32` where there are several."""
        inputs = tuple(dict.fromkeys(self.input_dtypes))
        if not inputs or inputs == (self.output_dtype,):
            return self.output_dtype or ",".join(inputs)
        return ",".join(inputs) + ("→" + self.output_dtype if self.output_dtype else "")

    def same_precision(self, other: Unit) -> bool:
        """Whether both computed in the same dtypes. One that takes a number where the other takes a tensor made of it
        (TorchScript does that) is judged by the kinds of dtypes. One that promotes its inputs itself computes as one
        whose inputs were promoted before: a narrower number is the same one in the wider dtype."""
        if self.output_dtype != other.output_dtype:
            return False
        if _agree(self.input_dtypes, other.input_dtypes):
            return True
        return _promoted(self.input_dtypes) == _promoted(other.input_dtypes) == self.output_dtype

    def same_arrivals(self, other: Unit) -> bool:
        """Whether the values came in the same dtypes, whatever casts they went through before the operator."""
        return _agree(self.arrived, other.arrived)


def _promoted(dtypes: Sequence[str]) -> str | None:
    """torch.promote_types of floating dtypes, by their names."""
    kinds = set(dtypes)
    if kinds == {"bfloat16", "float16"}:
        return "float32"
    return next((name for name in ("float64", "float32", "bfloat16", "float16") if name in kinds), None)


def _agree(left: Sequence[str], right: Sequence[str]) -> bool:
    return left == right if len(left) == len(right) else set(left) == set(right)


# Modes choose among these by device, grad mode and shape; they are one operator to the user. Names of PyTorch's
# native_functions.yaml.
_ONE_NAME = {
    "layer_norm": ("native_layer_norm",),
    "group_norm": ("native_group_norm",),
    "rms_norm": ("_fused_rms_norm",),
    "batch_norm": ("native_batch_norm", "_native_batch_norm_legit", "_native_batch_norm_legit_functional",
                   "_native_batch_norm_legit_no_training", "cudnn_batch_norm", "miopen_batch_norm",
                   "_batch_norm_impl_index", "_batch_norm_with_update", "_batch_norm_with_update_functional",
                   "_batch_norm_no_update"),
    "convolution": ("_convolution", "convolution_overrideable", "mkldnn_convolution", "cudnn_convolution",
                    "cudnn_convolution_relu", "miopen_convolution", "mps_convolution", "thnn_conv2d",
                    "_slow_conv2d_forward", "slow_conv3d", "slow_conv3d_forward", "slow_conv_dilated2d",
                    "slow_conv_dilated3d", "conv_depthwise3d", "_conv_depthwise2d", "_nnpack_spatial_convolution",
                    "cudnn_convolution_transpose", "miopen_convolution_transpose", "miopen_depthwise_convolution",
                    "slow_conv_transpose2d", "slow_conv_transpose3d"),
    "scaled_dot_product_attention": ("_scaled_dot_product_attention_math", "_scaled_dot_product_flash_attention",
                                     "_scaled_dot_product_flash_attention_for_cpu",
                                     "_scaled_dot_product_efficient_attention",
                                     "_scaled_dot_product_cudnn_attention",
                                     "_scaled_dot_product_fused_attention_overrideable",
                                     "_scaled_dot_product_attention_math_for_mps"),
    "softmax": ("_softmax", "_safe_softmax"),
    "dropout": ("native_dropout", "_fused_dropout"),
    "max_pool2d": ("max_pool2d_with_indices", "mkldnn_max_pool2d"),
    "max_pool3d": ("max_pool3d_with_indices", "mkldnn_max_pool3d"),
    "cdist": ("_cdist_forward",),
    "prelu": ("_prelu_kernel",),
    "index": ("_unsafe_index",),
    "index_put": ("_unsafe_index_put", "_index_put_impl"),
    "ctc_loss": ("_ctc_loss", "_cudnn_ctc_loss"),
    "embedding_bag": ("_embedding_bag", "_embedding_bag_forward_only"),
}
_FOLDED = {variant: name for name, variants in _ONE_NAME.items() for variant in variants}

# Casts, copies, fills and questions. Views are known by their schema.
_NO_UNITS = frozenset("""
_to_copy to copy copy_ _copy_from _copy_from_and_resize clone contiguous detach detach_ lift lift_fresh lift_fresh_copy
alias _unsafe_view _reshape_copy view_copy expand_copy t_copy transpose_copy permute_copy slice_copy select_copy
unsqueeze_copy squeeze_copy unbind_copy split_copy split_with_sizes_copy as_strided_copy resize_ set_
convert_element_type _autocast_to_reduced_precision _autocast_to_full_precision
fill fill_ zero zero_ uniform uniform_ normal normal_ bernoulli bernoulli_ random_ exponential_ geometric_ cauchy_
log_normal_ randperm empty_like zeros_like ones_like full_like rand_like randn_like randint_like new_empty new_zeros
new_ones new_full new_empty_strided
equal is_same_size _local_scalar_dense item is_nonzero _assert_async _assert_tensor_metadata _assert_scalar
_functional_assert_async _has_same_storage_numel record_stream
""".split())


def operator_name(packet: str) -> str:
    """The name that all modes share: `aten::native_layer_norm` → `layer_norm`, `aten::relu_` → `relu`."""
    name = packet.split("::")[-1]
    if not name.startswith("__"):
        name = name.rstrip("_")
    return _FOLDED.get(name) or name.lstrip("_")


def computes(packet: str) -> bool:
    """Whether the operator of this name computes something; for views the schema tells."""
    return packet.split("::")[-1] not in _NO_UNITS
