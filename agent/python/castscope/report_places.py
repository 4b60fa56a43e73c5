"""Says places of a JSON report in words: what its rows refer to by place in a list, and paths from here."""

from __future__ import annotations

import os
from typing import Any


def place(report: dict[str, Any], location: dict[str, Any]) -> str:
    """ "train.py:12". Paths in reports go from their `root`."""
    file = location["file"]
    if file is None:
        return "no Python line"
    whole = os.path.join(report["root"] or "", file)
    path = os.path.relpath(whole)
    return f"{file if path.startswith('..') or not os.path.exists(whole) else path}:{location['line']}"


def site_in_words(report: dict[str, Any], site: dict[str, Any]) -> str:
    """ "train.py:12  aten::linear weight, float32 to bfloat16". A member that has its default is left out of a site."""
    location, called = {"file": None}, {}
    if "stack_index" in site:
        location = report["frames"][report["stacks"][site["stack_index"]]["frame_index"]]
    if "call_site_index" in site:
        called = report["call_sites"][site["call_site_index"]]
    return (f"{place(report, location)}  {called.get('operator') or site['cause']} {called.get('argument') or ''}, "
            f"{site['from_dtype']} to {site['to_dtype']}")


def counted(n: int, what: str) -> str:
    """ "1 cast", "2 casts"."""
    return f"{n} {what}{'' if n == 1 else 's'}"


def sites_in_lines(report: dict[str, Any], sites: list[dict[str, Any]], casts: int, most: int, rest: str) -> list[str]:
    """A line for each of the first `most` sites, one for all others, and one for the casts that no site here has, which
    were not called by what `rest` names."""
    lines = [f"  {site['casts']:6}  {site_in_words(report, site)}" for site in sites[:most]]
    more = sites[most:]
    if more:
        lines.append(f"  {sum(site['casts'] for site in more):6}  at {counted(len(more), 'more place')}")
    elsewhere = casts - sum(site["casts"] for site in sites)
    if elsewhere > 0:
        lines.append(f"  {elsewhere:6}  not called by {rest}")
    return lines
