"""Annotates a torch.autograd.Function.

Casts stand before `apply`, so that autograd knows of them, and in `forward` and `setup_context` too, which
torch.compile itself calls; otherwise nothing is left to cast there. With kind half, too, autocast is off inside:
forward and backward are low-level code that must agree on what they compute in (as with torch.amp.custom_fwd and
custom_bwd).
"""

from __future__ import annotations

import functools
import sys
from typing import Any, Callable

from castscope import wrapping


def is_one(target: Any) -> bool:
    module = sys.modules.get("torch.autograd.function")
    return module is not None and isinstance(target, type) and issubclass(target, module.Function)


def annotate(cls: Any, annotation: wrapping.Annotation) -> Any:
    """Returns the same class, with its methods replaced. Its base classes stay as they are."""
    base = sys.modules["torch.autograd.function"].Function
    mark = wrapping.mark_of(getattr(wrapping.find_in(cls, "apply"), "__func__", None))
    annotation = annotation.over(mark.annotation if mark is not None else None)
    forward, backward, setup = (_raw(cls, name) for name in ("forward", "backward", "setup_context"))
    has_context = setup is _raw(base, "setup_context")  # else forward takes only the call's arguments
    settings: Any = {"off": annotation.kind != "promote", "name": cls.__name__}
    before = 0 if has_context else 1  # the class is passed where forward has ctx
    apply = _raw(cls, "apply")
    cls.apply = classmethod(wrapping.wrapper_of(apply, annotation, looks_like=apply, raw=apply, takes=forward,
                                                before=before, **settings))
    settings["tells"] = False  # apply has already told of the call
    cls.forward = staticmethod(wrapping.wrapper_of(forward, annotation, looks_like=forward, raw=forward, **settings))
    if not has_context:
        cls.setup_context = staticmethod(_with_cast_inputs(cls, setup, annotation, forward, settings))
    if settings["off"]:
        cls.backward = staticmethod(_switched_off(backward))
    return cls


def _raw(cls: type, name: str) -> Any:
    found = wrapping.find_in(cls, name)
    found = getattr(found, "__func__", found)
    mark = wrapping.mark_of(found)
    return found if mark is None else mark.raw


def _with_cast_inputs(cls: Any, setup: Callable[..., Any], annotation: wrapping.Annotation,
                      forward: Callable[..., Any], settings: Any) -> Callable[..., Any]:
    inputs_of_call = wrapping.wrapper_of(lambda *inputs: inputs, annotation, looks_like=forward, raw=None, **settings)

    def setup_context(ctx: Any, inputs: Any, output: Any) -> Any:
        return setup(ctx, inputs_of_call(*inputs), output)

    return _marked(setup_context, setup)


def _switched_off(backward: Callable[..., Any]) -> Callable[..., Any]:
    def backward_without_autocast(*args: Any, **kwargs: Any) -> Any:
        from castscope.casting import switched_off

        return switched_off(backward, args, kwargs)

    return _marked(backward_without_autocast, backward)


def _marked(wrapper: Any, raw: Any) -> Any:
    functools.update_wrapper(wrapper, raw)
    wrapper.__castscope__ = wrapping.Mark(wrapping.Annotation(), raw, wrapper)
    return wrapper
