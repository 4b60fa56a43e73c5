"""How far the outputs of a mode are from eager's."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import torch

# The tolerances of torch.testing.assert_close where the caller sets none: (relative, absolute).
_TOLERANCES = {"float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7),
               "complex64": (1.3e-6, 1e-5), "complex128": (1e-7, 1e-7)}
_Pair = tuple[str, torch.Tensor, torch.Tensor]  # name of an output, eager's, the mode's


@dataclasses.dataclass(frozen=True)
class OutputError:
    """One output of a mode beside eager's. The errors are the greatest of any element that is finite in both;
    `not_finite` counts the elements that are infinite or NaN in one and not so, or otherwise, in the other."""
    name: str
    dtype: str
    eager_dtype: str
    close: bool
    max_abs: float | None = None
    max_rel: float | None = None
    not_finite: int = 0
    problem: str = ""

    @property
    def same_dtype(self) -> bool:
        return self.dtype == self.eager_dtype


def same_values(tensor: torch.Tensor, value: torch.Tensor) -> bool:
    """Equal bit for bit, NaN too. True for a tensor without values, or with values that cannot be read."""
    if tensor.dtype != value.dtype or tensor.layout != value.layout:
        return False
    if tensor.device.type == "meta":
        return tensor.shape == value.shape
    try:
        if not tensor.is_nested and tensor.shape != value.shape:  # a nested tensor has its own kind of size, or none
            return False
        left, right = _parts(tensor.detach()), _parts(value)
        return len(left) == len(right) and all(map(_same_plain, left, right))
    except (RuntimeError, NotImplementedError, TypeError, AttributeError):  # a class or layout that cannot
        return True


def _same_plain(left: torch.Tensor, right: torch.Tensor) -> bool:
    if left.shape != right.shape:
        return False
    return torch.equal(left, right) or bool(((left == right) | ((left != left) & (right != right))).all())


def _parts(tensor: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The plain tensors that a tensor of another layout is made of."""
    if tensor.layout == torch.strided:
        return tuple(tensor.unbind()) if tensor.is_nested else (tensor,)
    if tensor.layout == torch.sparse_coo:
        return tensor._indices(), tensor._values()
    if tensor.layout == torch.jagged:
        return tensor.values(), tensor.offsets()  # type: ignore[attr-defined]
    rows = tensor.layout in (torch.sparse_csr, torch.sparse_bsr)
    outer, inner = ((tensor.crow_indices(), tensor.col_indices()) if rows
                    else (tensor.ccol_indices(), tensor.row_indices()))
    return outer, inner, tensor.values()


def compare_outputs(eager: Any, other: Any, rtol: float | None = None, atol: float | None = None
                    ) -> tuple[list[OutputError], list[str]]:
    """Compares two recordings: an entry for each tensor, and the differences of the results as a whole."""
    notes: list[str] = []
    pairs = _paired(eager.outputs, other.outputs, notes)
    if eager.values.keys() == other.values.keys():
        notes += [f"{name} is {other.values[name]!r}, in eager {value!r}" for name, value in eager.values.items()
                  if not _equal(value, other.values[name])]
    return [_error(name, left, right, rtol, atol) for name, left, right in pairs], notes


def _paired(eager: dict[str, torch.Tensor], other: dict[str, torch.Tensor], notes: list[str]) -> list[_Pair]:
    """Pairs by name; in order where a mode gives the same number of tensors in another structure (a trace makes dicts
    and tuples of an output class)."""
    if list(eager) == list(other):
        return [(name, eager[name], other[name]) for name in eager]
    if len(eager) == len(other):
        notes.append(f"the result has another structure, its tensors are compared in order: {_names(other)}; "
                     f"eager has {_names(eager)}")
        return list(zip(eager, eager.values(), other.values()))
    notes.append(f"the result has another structure: {_names(other)}; eager has {_names(eager)}")
    return [(name, tensor, other[name]) for name, tensor in eager.items() if name in other]


def _names(tensors: dict[str, torch.Tensor]) -> str:
    names = list(tensors)
    return (", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")) or "no tensors"


def _dense(tensor: torch.Tensor) -> torch.Tensor:
    tensor = tensor.dequantize() if tensor.is_quantized else tensor.detach()
    if tensor.is_nested:
        return torch.nested.to_padded_tensor(tensor, 0.0)
    return tensor if tensor.layout == torch.strided else tensor.to_dense()


def _error(name: str, eager: torch.Tensor, other: torch.Tensor, rtol: float | None, atol: float | None
           ) -> OutputError:
    dtypes = str(other.dtype)[6:], str(eager.dtype)[6:]
    if "meta" in (eager.device.type, other.device.type):
        return OutputError(name, *dtypes, close=True, problem="on the meta device, without values")
    try:
        eager, other = _dense(eager), _dense(other)
    except (RuntimeError, NotImplementedError):
        return OutputError(name, *dtypes, close=False, problem=f"{eager.layout}: not compared"[6:])
    if eager.shape != other.shape:
        return OutputError(name, *dtypes, close=False,
                           problem=f"shape {list(other.shape)}, in eager {list(eager.shape)}")
    if not (eager.is_floating_point() or eager.is_complex()):
        differing = int((eager.cpu() != other.cpu()).sum())
        return OutputError(name, *dtypes, close=not differing,
                           problem=f"{differing} of {eager.numel()} elements differ" if differing else "")
    kind = torch.complex128 if eager.is_complex() or other.is_complex() else torch.float64
    left, right = eager.detach().to("cpu", kind), other.detach().to("cpu", kind)
    finite = torch.isfinite(left) & torch.isfinite(right)
    alike = (left == right) | (torch.isnan(left) & torch.isnan(right))
    error = (left - right).abs()[finite]
    relative = (error / left.abs()[finite].clamp_min(torch.finfo(torch.float32).tiny))[error > 0]
    bounds = [_TOLERANCES.get(dtype, (0.0, 0.0)) for dtype in dtypes]
    rtol = max(bound[0] for bound in bounds) if rtol is None else rtol
    atol = max(bound[1] for bound in bounds) if atol is None else atol
    not_finite = int((~finite & ~alike).sum())
    close = not not_finite and bool((error <= atol + rtol * left.abs()[finite]).all())
    return OutputError(name, *dtypes, close, _greatest(error), _greatest(relative), not_finite)


def _greatest(values: torch.Tensor) -> float:
    return float(values.max()) if values.numel() else 0.0


def _equal(left: Any, right: Any) -> bool:
    try:
        return bool(left == right) or (isinstance(left, float) and math.isnan(left) and right != right)
    except Exception:  # comparison of the user's own types, or of arrays
        return left is right
