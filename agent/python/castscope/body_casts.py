"""Where the body of a test made the casts that are counted of it."""

from __future__ import annotations

import dis
import inspect
import os
import types
from collections.abc import Iterator
from typing import Any

from castscope.report_places import sites_in_lines

_BY_AUTOCAST = ("autocast", "script", "annotation")  # the causes of what max_casts counts
_MOST_SHOWN = 5


def casts_of_body(report: dict[str, Any], item: Any, casts: int) -> str:
    """Where the body made these casts: a line for each of the first places, and what is left in one line each."""
    is_of_body = _frames_of_body(report, item)
    sites = [site for site in report["sites"] if site["casts"] and site["cause"] in _BY_AUTOCAST
             and any(is_of_body[frame] for frame in _stack_of(report, site))]
    sites.sort(key=lambda site: -int(site["casts"]))
    lines = sites_in_lines(report, sites, casts, _MOST_SHOWN,
                           "the test's function: in another thread, or around the function")
    return "  where the body cast:\n" + "\n".join("  " + line for line in lines)


def _stack_of(report: dict[str, Any], site: dict[str, Any]) -> list[int]:
    return report["stacks"][site["stack_index"]]["frame_indexes"] if "stack_index" in site else []


def _frames_of_body(report: dict[str, Any], item: Any) -> list[bool]:
    """For each frame of the report, whether it is a line of the test's function: the body called what is inside."""
    function = getattr(item, "function", None)
    code = getattr(inspect.unwrap(function), "__code__", None) if function is not None else None
    if code is None:
        return [False] * len(report["frames"])
    file = os.path.realpath(code.co_filename)
    lines = set(_lines_of(code))
    return [frame["file"] is not None and frame["line"] in lines
            and os.path.realpath(os.path.join(report["root"] or "", frame["file"])) == file
            for frame in report["frames"]]


def _lines_of(code: types.CodeType) -> Iterator[int]:
    yield from (line for _, line in dis.findlinestarts(code) if line is not None)
    for constant in code.co_consts:
        if inspect.iscode(constant):
            yield from _lines_of(constant)
