"""The wrapped optimizer: one loss scale for each of its losses. And how one step of an optimizer is skipped."""

from __future__ import annotations

import contextlib
import logging
import types
import weakref
from collections.abc import Iterator, MutableMapping, Sequence
from typing import Any, NamedTuple

import torch

from castscope.amp.scaling import Backward, LossScale

_log = logging.getLogger("castscope.amp")
_waiting: MutableMapping[Any, list[_Waiting]] = weakref.WeakKeyDictionary()  # by optimizer


class OptimWrapper(torch.optim.Optimizer):
    """The optimizer that handle.wrap_optimizer() returns, which knows its losses.

        optimizer = handle.wrap_optimizer(torch.optim.SGD(model.parameters(), 0.1), num_loss=2)
        with optimizer.scale_loss(loss1) as scaled_loss:
            scaled_loss.backward()
        with optimizer.scale_loss(loss2) as scaled_loss:
            scaled_loss.backward()
        optimizer.step()

    The optimizer inside answers everything else (param_groups, state_dict(), …).
    """

    def __init__(self, optimizer: torch.optim.Optimizer, handle: Any, num_loss: int = 1) -> None:
        # Not Optimizer's own __init__: only the optimizer inside has something to optimize.
        if num_loss < 1:
            raise ValueError(f"num_loss is 1 or more, not {num_loss}")
        self._optimizer = optimizer
        self._handle = handle
        self._scales: list[LossScale] = handle._new_scales(num_loss)
        self._loss = 0  # backward passes since the last step
        self._finite = True

    @contextlib.contextmanager
    def scale_loss(self, loss: Any) -> Iterator[Any]:
        """Gives the loss, scaled, to call backward() on; at the end of the block the gradients are unscaled.

        The first block since the last step is that of the first loss, and so on; with more blocks than losses the
        scales take turns (gradient accumulation). Autocast is off in the block. What was in the gradients before is
        added.

            with optimizer.scale_loss(loss) as scaled_loss:
                scaled_loss.backward()

        loss: a tensor of any floating dtype and shape, or several in a list; as GradScaler.scale().
        """
        if not self._handle.is_active():
            yield loss
            return
        backward = Backward(self._optimizer, self._scales, self._loss)
        with self._handle._backward_pass(), backward.of(loss) as scaled_loss:
            yield scaled_loss
        self._loss += 1
        # With nothing to add to, zero_grad() has thrown away what an earlier pass found.
        self._finite = backward.finite and (self._finite or not backward.accumulates)

    def step(self, closure: Any = None) -> Any:  # type: ignore[override]
        """The optimizer's step, or nothing where a gradient of any of the losses since the last one is inf or NaN.

        NotImplementedError for a closure while the handle is active, as in apex.
        """
        if not self._handle.is_active():
            return self._optimizer.step() if closure is None else self._optimizer.step(closure)
        if closure is not None:
            raise NotImplementedError("amp's optimizer takes no closure: it would have to scale the loss")
        finite, self._finite, self._loss = self._finite, True, 0
        self._handle._clear_cache()  # the weights will change
        for scale in self._scales:
            scale.update()
        if finite:
            return self._optimizer.step()
        _log.info("Gradient overflow, skipping update")
        return None

    def zero_grad(self, set_to_none: bool = True) -> None:
        self._optimizer.zero_grad(set_to_none=set_to_none)

    def state_dict(self) -> dict[str, Any]:
        return self._optimizer.state_dict()

    def load_state_dict(self, state_dict: Any) -> None:
        self._optimizer.load_state_dict(state_dict)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        self._optimizer.add_param_group(param_group)

    def __getattr__(self, name: str) -> Any:
        if name == "_optimizer":  # it is not there yet
            raise AttributeError(name)
        return getattr(self._optimizer, name)

    def __repr__(self) -> str:
        return repr(self._optimizer)

    def __reduce__(self) -> Any:
        raise TypeError("amp's optimizer cannot be pickled or copied: keep its state_dict()")


class _Waiting(NamedTuple):
    """A backward pass whose gradients an optimizer is to take."""

    handle: Any
    scale: LossScale


def update_at_step(optimizer: Any, handle: Any, scale: LossScale) -> None:
    """Updates the scale, and forgets the handle's casts of weights, at the optimizer's next step.

    Does so at once if the optimizer has no hooks for that.
    """
    register = getattr(optimizer, "register_step_post_hook", None)
    if register is None:
        scale.update()
        return
    if optimizer not in _waiting:
        register(lambda stepped, *_: _has_stepped(stepped))
        _waiting[optimizer] = []
    waiting = _Waiting(handle, scale)
    if waiting not in _waiting[optimizer]:
        _waiting[optimizer].append(waiting)


def _has_stepped(optimizer: Any) -> None:
    for waiting in _waiting.get(optimizer, ()):
        waiting.scale.update()
        waiting.handle._clear_cache()  # the weights have changed now
    if optimizer in _waiting:
        _waiting[optimizer] = []


class _Together:
    """Several optimizers, seen as one as far as their gradients go."""

    def __init__(self, optimizers: Sequence[Any]) -> None:
        self.param_groups = [group for optimizer in optimizers for group in optimizer.param_groups]


def together(optimizers: Sequence[Any]) -> Any:
    return optimizers[0] if len(optimizers) == 1 else _Together(optimizers)


def skip_next_step(optimizer: Any, scale: LossScale) -> None:
    """Makes the next optimizer.step() do nothing, and the one after that behave normally."""
    if _skipping(optimizer) is None:
        vars(optimizer)["step"] = types.MethodType(_SkippedStep(optimizer, scale), optimizer)


def skip_no_step(optimizer: Any) -> None:
    skipping = _skipping(optimizer)
    if skipping is not None:
        skipping.restore()


def _skipping(optimizer: Any) -> _SkippedStep | None:
    step = getattr(vars(optimizer).get("step"), "__func__", None)
    return step if isinstance(step, _SkippedStep) else None


class _SkippedStep:
    """Stands in place of an optimizer's method step until it has been called once. Schedulers wrap that method."""

    def __init__(self, optimizer: Any, scale: LossScale) -> None:
        self._optimizer = optimizer
        self._scale = scale
        self._before = vars(optimizer).get("step")  # one set by a scheduler, for example
        self._steps = optimizer.step
        self._over = False

    def __call__(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        if self._over:  # other code has wrapped it meanwhile, and calls it for the step
            return self._steps(*args, **kwargs)
        self.restore()
        self._scale.update()
        _has_stepped(optimizer)
        _log.info("Gradient overflow, skipping update")
        return None

    def __get__(self, optimizer: Any, cls: Any = None) -> Any:
        return types.MethodType(self, optimizer)

    def restore(self) -> None:
        self._over = True
        if _skipping(self._optimizer) is not self:
            return
        if self._before is None:
            del vars(self._optimizer)["step"]
        else:
            vars(self._optimizer)["step"] = self._before
