"""The handle that init() returns, and init()."""

from __future__ import annotations

import atexit
import contextlib
import threading
import weakref
from collections.abc import Iterator
from typing import Any, Callable

import torch

from castscope import casting
from castscope.amp import optimizer as optimizers
from castscope.amp import threads
from castscope.amp.optimizer import OptimWrapper
from castscope.amp.printer import CastPrinter
from castscope.amp.scaling import Backward, LossScale


class AmpHandle:
    """Autocast, switched on for the thread that called init(), and the loss scales.

    Autocast is off inside `scale_loss`, since backward passes are not meant to run under it, and on again after it.
    Losses are scaled where the lower precision is float16. bfloat16 has the range of float32: there `scale_loss` gives
    the loss itself, and no step is left out.
    """

    def __init__(self, device_type: str, dtype: torch.dtype, enable_caching: bool, verbose: bool) -> None:
        self._device_type = device_type
        self._dtype = dtype
        self._scaled = casting.lowered({device_type: dtype})[device_type] is torch.float16
        self._region = torch.autocast(device_type, dtype=dtype, cache_enabled=enable_caching)
        self._enter()
        self._thread = threading.get_ident()
        self._active = True
        self._weights = casting.WeightCache() if enable_caching else None
        self._printer = CastPrinter(device_type) if verbose else None
        self._default: LossScale | None = self.new_scale()  # None once an optimizer is wrapped
        self._wrapped: list[list[LossScale]] = []
        casting.thread.weights = self._weights
        if self._printer is not None:
            casting.thread.report = self._printer.report
            self._printer.enter()

    def is_active(self) -> bool:
        """Whether it casts and scales: not under disable_casts(), and not once it has been deactivated."""
        return self._active

    @property
    def has_cache(self) -> bool:
        """Whether weights are cast once per iteration."""
        return self._weights is not None

    @property
    def verbose(self) -> bool:
        """Whether each cast is printed."""
        return self._printer is not None

    @contextlib.contextmanager
    def scale_loss(self, loss: Any, optimizer: torch.optim.Optimizer) -> Iterator[Any]:
        """Gives the loss, scaled, to call backward() on; at the end of the block the gradients are unscaled.

        Where one of them is inf or NaN, the next optimizer.step() does nothing, and the scale is halved. Gradients that
        were there before are added (gradient accumulation). With bfloat16 the loss is given as it is, and no step is
        left out. Casts of weights are forgotten, here and after the step.

            with handle.scale_loss(loss, optimizer) as scaled_loss:
                scaled_loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()

        loss: a tensor of any floating dtype and shape, or several in a list; as GradScaler.scale().
        RuntimeError when wrap_optimizer() has been called: then each optimizer has a scale_loss of its own.
        """
        if not self._active:
            yield loss
            return
        if self._default is None:
            raise RuntimeError("after handle.wrap_optimizer(), call optimizer.scale_loss(loss) of the wrapped one")
        with self.scaled(loss, [optimizer], self._default) as scaled_loss:
            yield scaled_loss

    @contextlib.contextmanager
    def scaled(self, loss: Any, stepping: list[Any], scale: LossScale) -> Iterator[Any]:
        """For castscope.amp's own modules: scale_loss(), for several optimizers and with this scale."""
        backward = Backward(optimizers.together(stepping), [scale])
        with self._backward_pass(), backward.of(loss) as scaled_loss:
            yield scaled_loss
        for optimizer in stepping:
            if not backward.accumulates:  # zero_grad() threw away what an earlier pass found
                optimizers.skip_no_step(optimizer)
            optimizers.update_at_step(optimizer, self, scale)
            if not backward.finite:
                optimizers.skip_next_step(optimizer, scale)

    def wrap_optimizer(self, optimizer: torch.optim.Optimizer, num_loss: int = 1) -> OptimWrapper:
        """For several optimizers, or several backward passes before a step: `num_loss` losses, each with its scale.

            optimizer = handle.wrap_optimizer(optimizer, num_loss=2)
        """
        self._default = None
        return OptimWrapper(optimizer, self, num_loss)

    @contextlib.contextmanager
    def disable_casts(self) -> Iterator[None]:
        """Inside, nothing is cast, and losses are not scaled.

            with handle.disable_casts():
                loss = float32_criterion(output, target)
        """
        before, self._active = self._active, False
        try:
            with torch.autocast(self._device_type, enabled=False):
                yield
        finally:
            self._active = before

    _disable_casts = disable_casts

    def state_dict(self) -> dict[str, Any]:
        """The loss scales, as in GradScaler.state_dict(), to go on with load_state_dict(); {} for each that is off.
        """
        return {"default": self._default.state_dict() if self._default is not None else None,
                "wrapped": [[scale.state_dict() for scale in scales] for scales in self._wrapped]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Takes over the loss scales, once the same optimizers have been wrapped in the same order.

            handle.load_state_dict(checkpoint["amp"])

        With bfloat16, where losses are not scaled, it takes nothing. ValueError where other optimizers were wrapped,
        and where losses are scaled and the state is of a run without scales (bfloat16, or enabled=False).
        """
        if not state:
            state = {"default": {} if self._default is not None else None,
                     "wrapped": [[{}] * len(scales) for scales in self._wrapped]}
        if ([len(scales) for scales in self._wrapped] != [len(states) for states in state["wrapped"]]
                or (self._default is None) != (state["default"] is None)):
            raise ValueError("the state is of other optimizers: wrap the same ones before load_state_dict()")
        if self._default is not None:
            self._default.load_state_dict(state["default"])
        for scales, states in zip(self._wrapped, state["wrapped"]):
            for scale, one in zip(scales, states):
                scale.load_state_dict(one)

    def remove_cache(self, parameter: torch.Tensor) -> None:
        """Forgets the cast of a parameter. Autocast can only forget all of them."""
        self._clear_cache()

    def _clear_cache(self) -> None:
        if self._weights is not None:
            self._weights.clear()
            torch.clear_autocast_cache()

    def _deactivate(self) -> None:
        """Switches everything off, for good. Only the thread that called init() can leave its autocast region."""
        if self._active and threading.get_ident() == self._thread:
            self._active = False
            self._region.__exit__(None, None, None)
            self._clear_cache()
            casting.thread.weights = casting.thread.report = None
            if self._printer is not None:
                self._printer.leave()

    @contextlib.contextmanager
    def _backward_pass(self) -> Iterator[None]:
        """Leaves the region and enters it anew: a region that stayed open would hold casts of weights that have
        changed."""
        here = threading.get_ident() == self._thread and torch.is_autocast_enabled(self._device_type)
        if here:
            self._region.__exit__(None, None, None)
        try:
            yield
        finally:
            self._clear_cache()
            if here:
                self._region.__enter__()

    def _enter(self) -> None:
        self._region.__enter__()
        if not torch.is_autocast_enabled(self._device_type):  # PyTorch has warned, and named the dtypes that it knows
            self._region.__exit__(None, None, None)
            raise ValueError(f"autocast on {self._device_type} is not possible with {self._region.fast_dtype}")

    def new_scale(self, fixed: float | None = None) -> LossScale:
        """For castscope.amp's own modules: the scale of one more loss."""
        return LossScale(self._device_type, self._scaled, fixed)

    def _new_scales(self, number: int) -> list[LossScale]:
        self._wrapped.append([self.new_scale() for _ in range(number)])
        return self._wrapped[-1]

    @contextlib.contextmanager
    def in_thread(self) -> Iterator[None]:
        """The region of this handle in another thread, for as long as the block lasts.

        It is entered as by torch.autocast. Leaving it clears nothing: all threads share the cache.
        """
        before = (torch.is_autocast_enabled(self._device_type), torch.get_autocast_dtype(self._device_type),
                  torch.is_autocast_cache_enabled())
        self._switch(True, self._dtype, self.has_cache, torch.autocast_increment_nesting)
        casting.thread.weights = casting.WeightCache() if self.has_cache else None
        try:
            yield
        finally:
            casting.thread.weights = None
            torch.autocast_decrement_nesting()
            self._switch(*before)

    def _switch(self, enabled: bool, dtype: torch.dtype, cache: bool, between: Callable[[], Any] = int) -> None:
        torch.set_autocast_enabled(self._device_type, enabled)
        torch.set_autocast_dtype(self._device_type, dtype)
        between()
        torch.set_autocast_cache_enabled(cache)


class NoOpHandle:
    """The handle that init(enabled=False) returns: it has all that AmpHandle has, and passes its arguments through.

        handle = amp.init(enabled=False)
        with handle.scale_loss(loss, optimizer) as the_loss_itself:
            the_loss_itself.backward()
    """

    has_cache = False
    verbose = False

    def is_active(self) -> bool:
        return False

    def scale_loss(self, loss: Any, optimizer: Any) -> Any:
        return contextlib.nullcontext(loss)

    def wrap_optimizer(self, optimizer: torch.optim.Optimizer, num_loss: int = 1) -> OptimWrapper:
        return OptimWrapper(optimizer, self, num_loss)

    def disable_casts(self) -> Any:
        return contextlib.nullcontext()

    _disable_casts = disable_casts

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        pass

    def remove_cache(self, parameter: torch.Tensor) -> None:
        pass

    def _clear_cache(self) -> None:
        pass

    def _deactivate(self) -> None:
        pass

    def _new_scales(self, number: int) -> list[LossScale]:
        return []


_latest = threading.local()


def init(enabled: bool = True, enable_caching: bool = True, verbose: bool = False, *,
         device_type: str | None = None, dtype: torch.dtype | None = None) -> AmpHandle | NoOpHandle:
    """Switches autocast on in this thread, until it ends, and returns the handle with which losses are scaled.

    enabled: False for a handle that does nothing, and costs nothing.
    enable_caching: whether a weight is cast once per iteration: until `scale_loss` ends, or handle._clear_cache().
    verbose: prints each cast as it is made: "Float->BFloat16 (linear) train.py:12". Slow.
    device_type: "cuda" where there is one, else "cpu".
    dtype: the lower precision; torch.get_autocast_dtype(device_type), which is float16 on CUDA and bfloat16 on the CPU.

        handle = amp.init(enabled=arguments.amp)

    Called again, it begins anew: the handle before is deactivated. ValueError for a dtype that autocast does not know.
    Under `castscope run --apex` threads that are started after it cast, too.
    """
    before = getattr(_latest, "handle", None)
    if before is not None:
        before._deactivate()
    _latest.handle = None
    if not enabled:
        return NoOpHandle()
    device_type = device_type or ("cuda" if torch.cuda.is_available() else "cpu")
    handle = AmpHandle(device_type, dtype or torch.get_autocast_dtype(device_type), enable_caching, verbose)
    _latest.handle = handle
    if threads.asked_for():
        threads.cast_in_new_ones(handle)
    ends = weakref.WeakMethod(handle._deactivate)
    atexit.register(lambda: (ends() or (lambda: None))())  # a region that nobody leaves looks like a mistake
    return handle
