"""apex's later interface: initialize() and the functions that work with its state.

    model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
    ...
    with amp.scale_loss(loss, optimizer) as scaled_loss:
        scaled_loss.backward()

Provided are the levels "O0" (nothing is cast or scaled) and "O1" (operators are cast, the model stays in float32). "O2"
and "O3", which convert the model, are refused with what to write instead.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import torch

from castscope.amp.handle import AmpHandle, NoOpHandle, init
from castscope.amp.scaling import LossScale

_REFUSED = {
    "O2": "write opt_level=\"O1\": it casts for each operator, and the model keeps its float32 weights, so that no "
          "master weights are needed",
    "O3": "write model.half() yourself, with opt_level=\"O0\"; or opt_level=\"O1\", which trains in mixed precision",
}


class _Begun:
    """The state that initialize() has begun, in this process."""

    def __init__(self, handle: AmpHandle | NoOpHandle, scales: list[LossScale]) -> None:
        self.handle = handle
        self.scales = scales


_begun: _Begun | None = None


def initialize(models: Any, optimizers: Any = None, enabled: bool = True, opt_level: str = "O1", *,
               cast_model_type: Any = None, patch_torch_functions: bool | None = None,
               keep_batchnorm_fp32: Any = None, master_weights: bool | None = None,
               loss_scale: float | str | None = None, cast_model_outputs: Any = None, num_losses: int = 1,
               verbosity: int = 1, min_loss_scale: float | None = None,
               max_loss_scale: float | None = None) -> Any:
    """Begins mixed precision, and returns the models and the optimizers as they are: both of them where both are given.

    opt_level: "O0" or "O1".
    loss_scale: a number for a scale that stays; "dynamic", the default. With bfloat16 losses are not scaled.
    num_losses: each has a scale of its own, which scale_loss(…, loss_id=N) names.
    verbosity: has no effect; nor have a least and a greatest scale, which are said to be ignored.

        model, optimizer = amp.initialize(model, optimizer, opt_level="O1")

    Called again, it begins anew. ValueError for what it does not provide, with what to write instead.
    """
    global _begun
    _refuse(opt_level, {"cast_model_type": cast_model_type, "keep_batchnorm_fp32": keep_batchnorm_fp32,
                        "master_weights": master_weights, "cast_model_outputs": cast_model_outputs})
    if patch_torch_functions is not None and patch_torch_functions != (opt_level == "O1"):
        raise ValueError(f"patch_torch_functions={patch_torch_functions} is what opt_level=\"O1\" and \"O0\" say: "
                         "leave it out, and write the one or the other")
    if min_loss_scale is not None or max_loss_scale is not None:
        warnings.warn("castscope.amp ignores min_loss_scale and max_loss_scale: GradScaler knows no bounds",
                      stacklevel=2)
    handle = init(enabled=enabled and opt_level == "O1")
    fixed = None if loss_scale is None or loss_scale == "dynamic" else float(loss_scale)
    scales = [handle.new_scale(fixed) for _ in range(num_losses)] if isinstance(handle, AmpHandle) else []
    _begun = _Begun(handle, scales)
    return models if optimizers is None else (models, optimizers)


def _refuse(opt_level: str, of_the_model: dict[str, Any]) -> None:
    if opt_level in _REFUSED:
        raise ValueError(f"castscope.amp does not provide opt_level={opt_level!r}, which converts the model: "
                         f"{_REFUSED[opt_level]}")
    if opt_level not in ("O0", "O1"):
        raise ValueError(f"opt_level is \"O0\" or \"O1\" (the letter O), not {opt_level!r}")
    for name, value in of_the_model.items():
        if value not in (None, False) and (name, value) != ("cast_model_type", torch.float32):
            raise ValueError(f"castscope.amp does not provide {name}={value!r}: it converts no model; leave it out, or "
                             "convert the model yourself")


@contextlib.contextmanager
def scale_loss(loss: Any, optimizers: Any, loss_id: int = 0, model: Any = None, delay_unscale: bool = False,
               delay_overflow_check: bool = False) -> Iterator[Any]:
    """Gives the loss, scaled, to call backward() on, like handle.scale_loss(); for use after initialize().

    optimizers: one, or a list of those that take this loss's gradients.
    delay_unscale: has no effect. Gradients are unscaled after each backward pass and then added up, which comes to the
    same.

        with amp.scale_loss(loss, optimizer) as scaled_loss:
            scaled_loss.backward()

    RuntimeError before initialize().
    """
    begun = _the_begun("scale_loss(loss, optimizer)")
    if not begun.handle.is_active():
        yield loss
        return
    stepping = list(optimizers) if isinstance(optimizers, (list, tuple)) else [optimizers]
    scaled = begun.handle.scaled  # type: ignore[union-attr]  # one that is active scales
    with scaled(loss, stepping, begun.scales[loss_id]) as scaled_loss:
        yield scaled_loss


def master_params(optimizer: torch.optim.Optimizer) -> Iterator[torch.Tensor]:
    """The parameters that an optimizer steps, which are in float32 as they are.

        torch.nn.utils.clip_grad_norm_(amp.master_params(optimizer), 1.0)
    """
    for group in optimizer.param_groups:
        yield from group["params"]


def state_dict() -> dict[str, Any]:
    """The loss scales of initialize(), to go on with load_state_dict()."""
    return {f"loss_scaler{number}": scale.state_dict()
            for number, scale in enumerate(_the_begun("state_dict()").scales)}


def load_state_dict(state: dict[str, Any]) -> None:
    """Takes over the loss scales. ValueError where the state is of another number of losses, or of a run without
    scales.

        amp.load_state_dict(checkpoint["amp"])
    """
    scales = _the_begun("load_state_dict()").scales
    if scales and len(state) != len(scales):
        raise ValueError(f"the state is of {len(state)} losses, and initialize() was told of {len(scales)}: num_losses")
    for number, scale in enumerate(scales):
        scale.load_state_dict(state[f"loss_scaler{number}"])


def _the_begun(what: str) -> _Begun:
    if _begun is None:
        raise RuntimeError(f"amp.{what} works on what amp.initialize() has begun: call that first; with amp.init(), "
                           "write handle.scale_loss(loss, optimizer)")
    return _begun
