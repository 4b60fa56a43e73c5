"""Puts an annotation on a function, a class or an object. Knows nothing of PyTorch until it is there.

- A function is replaced by a wrapper.
- In a class, the method that does the work is replaced, in the class itself: `forward`, or `__call__` where there is no
  `forward`. Where it is inherited, the base class stays as it is.
- An object gets a class of its own (objects.py); a torch.autograd.Function is a case by itself (autograd_functions.py).

If one thing has several annotations, the last one made counts; the arguments that they never cast add up.
"""

from __future__ import annotations

import functools
import inspect
import sys
from typing import Any, Callable, NamedTuple

from castscope import autograd_functions, in_repr, objects
from castscope.signatures import Rule, arguments_of, kept_of, name_of, short_name_of

_MARK = "__castscope__"


class Annotation(NamedTuple):
    kind: str | None = None  # "half", "float" or "promote"; None: not said, which means float where it stands alone
    kept: tuple[str, ...] = ()  # names of the arguments that are never cast
    of_pytorch: bool = False  # a function of PyTorch's: autocast is off inside, and out= is not cast

    def over(self, lower: Annotation | None) -> Annotation:
        if lower is None:
            return self
        kept = tuple(dict.fromkeys((*lower.kept, *self.kept)))
        return Annotation(self.kind or lower.kind, kept, self.of_pytorch if self.kind else lower.of_pytorch)

    def __str__(self) -> str:
        never = ", ".join(map(repr, self.kept))
        return f"castscope.{self.kind or 'float'}_function" + (f", castscope.never_cast({never})" if never else "")


class Mark:
    """Attribute of each wrapper: the thing that it stands for."""

    def __init__(self, annotation: Annotation, raw: Any, wrapper: Any, name: str = "") -> None:
        self.annotation = annotation
        self.raw = raw  # the attribute that was replaced; None if it is inherited
        self.wrapper = wrapper
        self.name = name  # in a report


def mark_of(function: Any) -> Mark | None:
    mark = getattr(function, "__dict__", {}).get(_MARK)
    # functools.wraps copies the attribute to wrappers that are not ours.
    return mark if mark is not None and mark.wrapper is function else None


def annotate(target: Any, annotation: Annotation, name: str | None = None) -> Any:
    """Returns the annotated target: a new function, or the same class or object. TypeError for what cannot be called.

    `name`: what a report calls it, where that is not its own name: a method has one only by its class.
    """
    if isinstance(target, (staticmethod, classmethod)):
        return type(target)(annotate(target.__func__, annotation, name))
    if autograd_functions.is_one(target):
        return autograd_functions.annotate(target, annotation)
    if inspect.isclass(target):
        annotate_method(target, _method_of(target), annotation)
        return target
    if objects.can_have_own_class(target):
        return objects.annotate_method(target, _method_of(type(target)), annotation)
    if not callable(target):
        raise TypeError(f"a function, a class or an object that can be called is annotated, not {target!r}")
    return _annotate_function(target, annotation, name)


_UNSCRIPTABLE = "what castscope annotates is not supported in script mode"


# ---- functions

def _annotate_function(function: Callable[..., Any], annotation: Annotation,
                       name: str | None) -> Callable[..., Any]:
    mark = mark_of(function)
    if mark is not None and mark.raw is not None:
        annotation = annotation.over(mark.annotation)
        if annotation == mark.annotation and name in (None, mark.name):
            return function
        function = mark.raw
    return wrapper_of(function, annotation, looks_like=function, raw=function, name=name)


def wrapper_of(runs: Callable[..., Any], annotation: Annotation, *, looks_like: Any, raw: Any,
               takes: Any = None, before: int = 0, off: bool | None = None,
               name: str | None = None, tells: bool = True) -> Callable[..., Any]:
    """A function that calls `runs` with its arguments cast. `off`: whether autocast is off meanwhile.

    `takes`: its signature tells the arguments, if not that of `looks_like`; `before`: how many arguments precede them.
    """
    takes = looks_like if takes is None else takes
    kind = annotation.kind or "float"
    off = (kind == "float" or annotation.of_pytorch) if off is None else off
    name = name or short_name_of(looks_like)
    rule = Rule(kind, kept_of(takes, annotation.kept, before), off, name, arguments_of(takes, before), tells,
                annotation.of_pytorch)
    wrapper = functools.update_wrapper(_calling(runs, looks_like, rule), looks_like)
    setattr(wrapper, _MARK, Mark(annotation, raw, wrapper, name))
    # torch.jit.script raises an error with this text.
    setattr(wrapper, "__script_unsupported", _UNSCRIPTABLE)
    return wrapper


def _calling(runs: Callable[..., Any], looks_like: Any, rule: Rule) -> Callable[..., Any]:
    if inspect.isasyncgenfunction(looks_like):
        raise TypeError(f"{name_of(looks_like)} is an asynchronous generator, which cannot be annotated: annotate what "
                        "it calls")
    if inspect.iscoroutinefunction(looks_like):
        async def annotated(*args: Any, **kwargs: Any) -> Any:
            from castscope.casting import awaitable  # PyTorch may not be there yet when something is annotated

            return await awaitable(rule, runs, args, kwargs)
    elif inspect.isgeneratorfunction(looks_like):
        def annotated(*args: Any, **kwargs: Any) -> Any:  # type: ignore[misc]
            from castscope.casting import generate

            return (yield from generate(rule, runs, args, kwargs))
    else:
        def annotated(*args: Any, **kwargs: Any) -> Any:  # type: ignore[misc]
            from castscope.casting import call

            return call(rule, runs, args, kwargs)
    return annotated


# ---- classes

def _method_of(cls: type) -> str:
    for name in ("forward", "__call__"):
        if find_in(cls, name) is not None:
            return name
    raise TypeError(f"{name_of(cls)} has neither forward nor __call__: annotate one of its methods")


def find_in(cls: type, name: str) -> Any:
    """The attribute as it is in the class or in the nearest base class that has it. Metaclasses are not searched."""
    return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)


def annotate_method(cls: type, name: str, annotation: Annotation) -> None:
    """Replaces the method in `cls`. One that is inherited is looked up at each call, as super() would.

    A report names it by the annotated class and by its name there, whatever is behind that: a base
    class's method, a decorator's function, a lambda.
    """
    found = find_in(cls, name)
    shown = f"{short_name_of(cls)}.{name}"
    plain = getattr(found, "__func__", found)
    mark = mark_of(plain)
    inherits = name not in vars(cls) or (mark is not None and mark.raw is None)
    if inherits and not isinstance(found, staticmethod):
        annotation = annotation.over(mark.annotation if mark is not None else None)
        for_class = isinstance(found, classmethod)
        new: Any = wrapper_of(inherited_by(cls, name, for_class), annotation, looks_like=plain, raw=None,
                              name=shown)
        new = classmethod(new) if for_class else new
    else:
        new = annotate(found, annotation, shown)
    try:
        setattr(cls, name, new)
    except TypeError as error:  # a type made in C
        raise TypeError(f"{name_of(cls)}.{name} cannot be replaced: {error}") from error
    modules = sys.modules.get("torch.nn.modules.module")
    if modules is not None and issubclass(cls, modules.Module):
        setattr(cls, "__prepare_scriptable__", _refuse_script)
        in_repr.show(cls, _annotations_of)


def _annotations_of(cls: type) -> str:
    """"castscope.float_function"; with the method's name if it is not the method that runs a module."""
    found = {name: mark_of(getattr(found, "__func__", found)) for name in dir(cls)
             if (found := find_in(cls, name)) is not None}
    return ", ".join(("" if name == "forward" else f"{name}: ") + str(mark.annotation)
                     for name, mark in found.items() if mark is not None and not mark.annotation.of_pytorch)


def _refuse_script(module: Any) -> Any:
    """torch.jit.script asks each module for what to compile, and would take the source without the annotation."""
    raise RuntimeError(f"{name_of(type(module))}: {_UNSCRIPTABLE}; torch.jit.trace and torch.compile see the casts")


def inherited_by(owner: type, name: str, for_class: bool) -> Callable[..., Any]:
    """Calls the method that `owner` inherits, without the annotations that it has in a base class."""
    def runs(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        cls = self if for_class else type(self)
        order = cls.__mro__
        for base in order[order.index(owner) + 1:]:
            raw = vars(base).get(name)
            mark = mark_of(getattr(raw, "__func__", raw))
            if raw is None or (mark is not None and mark.raw is None):
                continue
            if mark is not None:
                raw = type(raw)(mark.raw) if isinstance(raw, classmethod) else mark.raw
            return _bound(raw, name, None if for_class else self, cls)(*args, **kwargs)
        raise AttributeError(f"{name_of(cls)} has no {name} below the annotated one")
    return runs


def _bound(raw: Any, name: str, instance: Any, cls: type) -> Any:
    if not hasattr(raw, "__get__"):
        return raw
    try:
        return raw.__get__(instance, cls)
    except AttributeError:  # then Python asks __getattr__, which gives traced modules their forward
        if instance is None or not hasattr(cls, "__getattr__"):
            raise
        return instance.__getattr__(name)
