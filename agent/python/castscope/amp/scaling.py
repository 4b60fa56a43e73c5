"""One backward pass of a scaled loss, after which the gradients are those of the loss itself.

torch.amp.GradScaler scales, unscales, looks for infinities and adapts the scale. It does the middle two in an
optimizer's step; here they happen as soon as a backward pass has ended, as in apex, so that gradients may be
clipped, or those of another loss added, before the step.

Where nothing needs a scale, as with bfloat16, the scaler is off: losses and gradients are left as they are.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import torch

Gradients = list[tuple[torch.Tensor, torch.Tensor]]  # parameter, a copy of its gradient


class LossScale:
    """The scale of one loss. It changes once per step, however many backward passes there were; a `fixed` one does not.

    If it is not `enabled`, it leaves everything as it is.
    """

    def __init__(self, device_type: str, enabled: bool = True, fixed: float | None = None) -> None:
        first: dict[str, Any] = {} if fixed is None else {"init_scale": fixed}
        self._scaler = torch.amp.GradScaler(device_type, enabled=enabled, **first)
        self._fixed = fixed
        self._unscaled: list[_StepToBe] = []  # since the last update; GradScaler identifies them by their address

    @property
    def enabled(self) -> bool:
        return self._scaler.is_enabled()

    def scale(self, loss: Any) -> Any:
        return self._scaler.scale(loss)

    def unscale(self, optimizer: Any) -> bool:
        """Unscales the gradients, and tells whether all are finite."""
        if all(parameter.grad is None for parameter in _parameters(optimizer)):
            return True  # GradScaler refuses to step in that case
        step = _StepToBe(optimizer)
        self._unscaled.append(step)
        self._scaler.unscale_(step)  # type: ignore[arg-type]
        self._scaler.step(step)  # type: ignore[arg-type]
        step.param_groups = []
        return step.may_be

    def update(self) -> None:
        """Updates the scale: the gradients since the last update have been taken, or thrown away."""
        if self._unscaled:
            self._scaler.update(self._fixed)
            self._unscaled.clear()

    def state_dict(self) -> dict[str, Any]:
        self.update()
        return self._scaler.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if not self.enabled:  # as GradScaler has it
            return
        if not state:
            raise ValueError("there are no loss scales in this state: it was saved where losses were not scaled, as "
                             "with bfloat16; leave load_state_dict out to begin with new ones")
        self.update()
        self._scaler.load_state_dict(state)


class _StepToBe:
    """Stands for an optimizer in GradScaler, which calls step() if all gradients are finite."""

    def __init__(self, optimizer: Any) -> None:
        self.param_groups = optimizer.param_groups
        self.may_be = False

    def step(self) -> None:
        self.may_be = True


class Backward:
    """The outcome of a backward pass, when it has ended."""

    def __init__(self, optimizer: Any, scales: Sequence[LossScale], number: int = 0) -> None:
        self._optimizer = optimizer
        self._scales = scales  # of all losses of the optimizer
        self._scale = scales[number % len(scales)]
        self.accumulates = False  # there were gradients before it, to which the new ones are added
        self.finite = True

    @contextlib.contextmanager
    def of(self, loss: Any) -> Iterator[Any]:
        """Gives the scaled loss; at its end the gradients are unscaled, and those that were there before are added.

        The earlier ones are set aside meanwhile: they are unscaled already, and their infinities are not this loss's.
        """
        if not self._scale.enabled:
            yield loss
            return
        before = _set_aside(self._optimizer)
        self.accumulates = bool(before)
        if not self.accumulates:
            for scale in self._scales:
                scale.update()
        try:
            yield self._scale.scale(loss)
            self.finite = self._scale.unscale(self._optimizer)
        except BaseException:
            for parameter, gradient in before:
                parameter.grad = gradient
            raise
        with torch.no_grad():
            for parameter, gradient in before:
                parameter.grad = _sum(parameter.grad, gradient)


def _sum(new: torch.Tensor | None, before: torch.Tensor) -> torch.Tensor:
    if new is None:
        return before
    return before.add_(new) if new.is_sparse and not before.is_sparse else new.add_(before)


def _parameters(optimizer: Any) -> list[torch.Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def _set_aside(optimizer: Any) -> Gradients:
    """Copies: a gradient may be a view of what the next backward pass writes (DistributedDataParallel's buckets)."""
    aside = []
    for parameter in _parameters(optimizer):
        if parameter.grad is not None:
            aside.append((parameter, parameter.grad.detach().clone()))
            parameter.grad = None
    return aside
