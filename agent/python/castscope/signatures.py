"""Facts that a call of an annotated thing needs: the kind of cast, and which arguments `never_cast` has named."""

from __future__ import annotations

import difflib
import inspect
import types
from collections.abc import Iterable
from typing import Any, Callable, NamedTuple


def nearest(name: str, known: Iterable[str]) -> str:
    """"; did you mean 'rois'?", or nothing where no name is near."""
    near = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean {near[0]!r}?" if near else ""


def name_of(target: Any) -> str:
    """The name of a function, a class or an object in a sentence."""
    named = target if hasattr(target, "__qualname__") else type(target)
    return getattr(named, "__qualname__", repr(target))


def short_name_of(target: Any) -> str:
    """The name in a report: without the function that it was made in."""
    return name_of(target).split("<locals>.")[-1]


def missing(container: Any, name: str) -> AttributeError:
    shown = container.__name__ if isinstance(container, types.ModuleType) else name_of(container)
    return AttributeError(f"{shown} has no {name!r}{nearest(name, dir(container))}")


class Kept(NamedTuple):
    """The arguments of one function that keep their dtype."""

    positions: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    rest_from: int | None = None  # all of *args, which begin at this position
    others_than: tuple[str, ...] | None = None  # all of **kwargs, which is every name but these

    def position(self, number: int) -> bool:
        return number in self.positions or (self.rest_from is not None and number >= self.rest_from)

    def keyword(self, name: str) -> bool:
        return name in self.names or (self.others_than is not None and name not in self.others_than)


class Rule(NamedTuple):
    """An annotation as a call needs it. Made of plain values, which torch.compile can take for constants."""

    kind: str  # "half", "float" or "promote"
    kept: Kept
    off: bool  # whether the body runs with autocast off
    name: str
    arguments: tuple[str, ...] = ()  # by position; "*rest" takes all from its position on
    tells: bool = True  # notifies castscope of arrivals; False if another wrapper of the same call does
    of_pytorch: bool = False  # a function of PyTorch's: what it writes into, out=, is not cast

    def argument(self, key: int | str) -> tuple[str, int]:
        """Name and position of an argument that was passed by position, or by name: "" or -1 where it is not known.

        All that `*rest` takes is one argument.
        """
        if isinstance(key, str):
            return key, self.arguments.index(key) if key in self.arguments else -1
        last = len(self.arguments) - 1
        if last >= 0 and key >= last and self.arguments[last].startswith("*"):
            return self.arguments[last][1:], last
        return self.arguments[key] if key < len(self.arguments) else "", key


def kept_of(function: Callable[..., Any], names: tuple[str, ...], before: int = 0) -> Kept:
    """For a call in which `before` arguments stand before those in the signature of `function`.

    ValueError where the signature cannot be read, lacks a name, or cannot tell which argument has it.
    """
    kept = Kept()
    parameters = _parameters(function, names[0]) if names else {}
    for name in names:
        kept = _with(kept, function, name, parameters, before)
    return kept


def arguments_of(function: Callable[..., Any], before: int = 0) -> tuple[str, ...]:
    """The names by position, in a call in which `before` arguments precede them; () where they cannot be read."""
    try:
        parameters = _parameters(function, "")
    except ValueError:
        return ()
    names = [""] * before
    for name, kind in parameters.items():
        if kind is inspect.Parameter.VAR_POSITIONAL:
            names.append("*" + name)
        elif kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD):
            names.append(name)
    return tuple(names)


def _parameters(function: Any, name: str) -> dict[str, Any]:
    schema = getattr(getattr(function, "default", function), "_schema", None)
    if schema is not None:  # torch.ops.namespace.operator, and one overload of it
        return {argument.name: inspect.Parameter.KEYWORD_ONLY if argument.kwarg_only else
                inspect.Parameter.POSITIONAL_OR_KEYWORD for argument in schema.arguments}
    try:
        return {parameter.name: parameter.kind for parameter in inspect.signature(function).parameters.values()}
    except (TypeError, ValueError):
        raise ValueError(f"the signature of {name_of(function)} cannot be read, so {name!r} cannot be found in it: "
                         "annotate a function that calls it") from None


def _with(kept: Kept, function: Any, name: str, parameters: dict[str, Any], before: int) -> Kept:
    order = list(parameters)
    kind = parameters.get(name)
    if kind is None:
        _refuse_unless_by_keyword(function, name, parameters)
    elif kind is inspect.Parameter.VAR_POSITIONAL:
        return kept._replace(rest_from=order.index(name) + before)
    elif kind is inspect.Parameter.VAR_KEYWORD:
        return kept._replace(others_than=tuple(order))
    elif kind is not inspect.Parameter.KEYWORD_ONLY:
        kept = kept._replace(positions=(*kept.positions, order.index(name) + before))
    return kept._replace(names=(*kept.names, name))


def _refuse_unless_by_keyword(function: Any, name: str, parameters: dict[str, Any]) -> None:
    kinds, has = parameters.values(), ", ".join(parameters) or "none"
    if inspect.Parameter.VAR_KEYWORD not in kinds:
        raise ValueError(f"{name_of(function)} has no argument {name!r}{nearest(name, parameters)} (it has {has})")
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        raise ValueError(f"{name_of(function)} takes any arguments ({has}), so castscope cannot know which one is "
                         f"{name!r}: give it that name in the signature")
