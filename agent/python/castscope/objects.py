"""Annotates one object: it gets a class of its own, derived from its class and of the same name.

A method put into the object itself would still work on the original in each copy of it (copy.copy, DataParallel), and
could not be pickled. PyTorch does likewise for parametrizations and FSDP.
"""

from __future__ import annotations

import sys
import threading
import types
import weakref
from collections.abc import MutableMapping
from typing import Any, Callable

from castscope import wrapping
from castscope.signatures import short_name_of

_BASE = "__castscope_base__"  # in the namespace of such a class: the class that the object had, and what was annotated

# By class, and by what is annotated in it.
_classes: MutableMapping[Any, type] = weakref.WeakValueDictionary()
_lock = threading.Lock()


def can_have_own_class(target: Any) -> bool:
    """Modules of PyTorch, and objects whose class, written in Python, makes them callable. Not PyTorch's own
    operators."""
    cls = type(target)
    modules = sys.modules.get("torch.nn.modules.module")
    if modules is not None and isinstance(target, modules.Module):
        return True
    called = wrapping.find_in(cls, "__call__")
    return isinstance(called, types.FunctionType) and not cls.__module__.startswith("torch.")


def annotate_method(target: Any, name: str, annotation: wrapping.Annotation) -> Any:
    """Annotates a method of one object, and returns the object."""
    in_object = getattr(target, "__dict__", {}).get(name)
    if in_object is not None:  # comes before the class's own
        target.__dict__[name] = wrapping.annotate(in_object, annotation, f"{short_name_of(type(target))}.{name}")
        return target
    base, annotated = type(target).__dict__.get(_BASE, (type(target), {}))
    found = wrapping.find_in(base, name)
    mark = wrapping.mark_of(getattr(found, "__func__", found))
    lower = annotated.get(name, mark.annotation if mark is not None else None)
    _set_class(target, base, {**annotated, name: annotation.over(lower)})
    return target


def _set_class(target: Any, base: type, annotated: dict[str, wrapping.Annotation]) -> None:
    try:
        object.__setattr__(target, "__class__", _class_of(base, annotated))
    except TypeError as error:
        raise TypeError(f"an object of class {base.__qualname__} cannot be annotated by itself: {error}") from error


def _class_of(base: type, annotated: dict[str, wrapping.Annotation]) -> type:
    key = (base, tuple(sorted(annotated.items())))
    with _lock:
        cls = _classes.get(key)
        if cls is None:
            cls = _classes[key] = _new_class(base, annotated)
        return cls


def _new_class(base: type, annotated: dict[str, wrapping.Annotation]) -> type:
    def fill(namespace: dict[str, Any]) -> None:
        namespace.update({"__module__": base.__module__, "__qualname__": base.__qualname__, "__doc__": base.__doc__,
                          "__slots__": (), "__reduce_ex__": _reduce, _BASE: (base, annotated)})

    cls = types.new_class(base.__name__, (base,), {}, fill)
    for name, annotation in annotated.items():
        wrapping.annotate_method(cls, name, annotation)
    return cls


def _reduce(self: Any, protocol: Any) -> tuple[Any, ...]:
    """Reduces as the object's own class would, without the class that pickle cannot find by its name."""
    owner = next(cls for cls in type(self).__mro__ if _BASE in vars(cls))
    base, annotated = vars(owner)[_BASE]
    make, args, *rest = super(owner, self).__reduce_ex__(protocol)  # type: ignore[arg-type]
    if type(self) is not owner:  # code has derived from it once more
        return (make, args, *rest)
    args = tuple(base if argument is owner else argument for argument in args)
    return (_restore, (make, args, tuple(sorted(annotated.items()))), *rest)


def _restore(make: Callable[..., Any], args: tuple[Any, ...], annotated: Any) -> Any:
    target = make(*args)
    _set_class(target, type(target), {name: wrapping.Annotation(*annotation) for name, annotation in annotated})
    return target
