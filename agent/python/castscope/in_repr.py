"""Shows an annotation where one looks at the model: in the repr of an annotated module, and so in a debugger.

    RoIHead(
      castscope.float_function, castscope.never_cast('rois')
      (pool): RoIPool()
    )
"""

from __future__ import annotations

from typing import Any, Callable

_OURS = "__castscope_shows__"


def show(cls: type, words_for: Callable[[type], str]) -> None:
    """Has `extra_repr` of this class of modules end with `words_for(type(self))`. Once is enough for a class."""
    raw = vars(cls).get("extra_repr")
    if not hasattr(raw, _OURS):
        shows = _extra_repr(cls, raw, words_for)
        setattr(shows, _OURS, True)
        setattr(cls, "extra_repr", shows)


def _extra_repr(owner: type, raw: Callable[[Any], str] | None,
                words_for: Callable[[type], str]) -> Callable[[Any], str]:
    def extra_repr(self: Any) -> str:
        text = super(owner, self).extra_repr() if raw is None else raw(self)  # type: ignore[misc, arg-type]
        # Its base classes may be annotated, too: the nearest class speaks for all of them.
        nearest = next(cls for cls in type(self).__mro__ if hasattr(vars(cls).get("extra_repr"), _OURS))
        return ", ".join(filter(None, (text, words_for(type(self)) if nearest is owner else "")))
    return extra_repr
