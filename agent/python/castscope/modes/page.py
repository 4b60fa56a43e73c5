"""Comparisons as a page: a table with a row for each operator and a column for each mode. It is one file, without
scripts, and loads nothing."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from castscope.modes.text import count, place, short_dtype, short_dtypes, where

if TYPE_CHECKING:
    from castscope.modes.comparison import Comparison, Row
    from castscope.modes.errors import ModeError
    from castscope.modes.units import Line
    from castscope.modes.values import OutputError

_STYLE = """
.castscope{color-scheme:light dark;--ink:#1b1f24;--soft:#57606a;--line:#d8dee4;--card:#f6f7f9;--cause:#b3261e;
--follower:#8a5a00;--same:#1a7f37;font:15px/1.5 system-ui,sans-serif;color:var(--ink)}
@media (prefers-color-scheme:dark){.castscope{--ink:#e6e9ee;--soft:#9aa4b0;--line:#2c333d;--card:#181c22;
--cause:#ff8a80;--follower:#f2c14e;--same:#6fdd8b}}
.castscope h1{font-size:1.35rem;margin:0}
.castscope h2{font-size:1.1rem;margin:2rem 0 .5rem;overflow-wrap:anywhere}
.castscope h3{font-size:1rem;margin:1.2rem 0 .3rem}
.castscope p{margin:.3rem 0}
.castscope ul{margin:.3rem 0;padding-left:1.2rem}
.castscope .wide{overflow-x:auto}
.castscope table{border-collapse:collapse;font-size:.9rem;width:100%}
.castscope th{text-align:left;color:var(--soft);font-weight:500}
.castscope th,.castscope td{border-bottom:1px solid var(--line);padding:.25rem .8rem .25rem 0;vertical-align:top}
.castscope code,.castscope pre,.castscope td{font-variant-numeric:tabular-nums}
.castscope pre{background:var(--card);padding:.4rem .6rem;overflow-x:auto;margin:.3rem 0}
.castscope .soft{color:var(--soft)}
.castscope .cause{color:var(--cause);font-weight:600}
.castscope .follower{color:var(--follower)}
.castscope .good{color:var(--same)}
.castscope tr.same{display:none}
.castscope input:checked~.wide tr.same{display:table-row}
"""
_PAGE_STYLE = "body{margin:0 auto;padding:1.5rem 1.25rem 4rem;max-width:76rem;background:Canvas}"
_LEGEND = "! a difference begins; ~ it follows from one; – there is no such operator: not comparable"


def page(comparisons: Sequence[Comparison]) -> str:
    """A whole document."""
    names = ", ".join(comparison.name for comparison in comparisons[:3]) + (" …" if len(comparisons) > 3 else "")
    body = "".join(_section(comparison, str(number)) for number, comparison in enumerate(comparisons))
    torch = comparisons[0].torch if comparisons else ""
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>castscope compare: {escape(names)}</title>
<style>{_PAGE_STYLE}{_STYLE}</style></head>
<body><main class="castscope"><h1>castscope compare</h1>
<p class="soft">{escape(f"PyTorch {torch}" if torch else "")}</p>
{body}</main></body></html>
"""


def fragment(comparison: Comparison) -> str:
    """For a notebook."""
    return f'<div class="castscope"><style>{_STYLE}</style>{_section(comparison, str(id(comparison)))}</div>'


def _section(of: Comparison, key: str) -> str:
    ambient = ", ".join(f"{device} {dtype}" for device, dtype in of.ambient.items())
    called = f"called in autocast {ambient}" if ambient else "called without autocast around it"
    parts = [f"<section><h2>{escape(of.name)}</h2>", _tag("p", called, "soft"), _verdicts(of), _table(of, key),
             _outputs(of), _notes(of), "</section>"]
    return "\n".join(part for part in parts if part)


def _verdicts(of: Comparison) -> str:
    rows = [_refused("eager", of.errors["eager"])] if "eager" in of.errors else []
    for mode in of.modes:
        if mode in of.errors and mode != "eager":
            rows.append(_refused(mode, of.errors[mode]))
        elif mode in of.compared:
            rows.append(f"<li>{mode}: {_verdict(of, mode)}{_causes(of, mode)}</li>")
    return f"<ul>{''.join(rows)}</ul>"


def _refused(mode: str, error: ModeError) -> str:
    said = f"not available: {error.summary}" if mode != "eager" else f"failed: {error.summary}"
    at = _tag("p", place(error.line), "soft") if error.line else ""
    return f"<li>{mode}: {_tag('span', said, 'cause')}{at}{_tag('pre', error.code) if error.code else ''}</li>"


def _verdict(of: Comparison, mode: str) -> str:
    causes, followers, alone = of.differences(mode), of.followers(mode), of.not_comparable(mode)
    wrong = [output for output in of.outputs.get(mode, ()) if not output.same_dtype]
    if causes:
        more = f", and {len(followers)} more follow" if followers else ""
        said = _tag("span", f"differs at {count(len(causes), 'operator')}{more}", "cause")
    elif wrong:
        said = _tag("span", f"gives {wrong[0].dtype}, eager {wrong[0].eager_dtype}", "cause")
    elif not of.observed:
        said = "not observed: no operator ran"
    else:
        agreeing = of.agreeing(mode)
        said = _tag("span", f"same dtypes in {agreeing} of {count(agreeing + len(alone), 'operator')}", "good")
    return said + (f"; {len(alone)} not comparable" if alone else "")


def _causes(of: Comparison, mode: str) -> str:
    """The reasons, each once, with the first place that it holds for."""
    first: dict[str, Row] = {}
    for row in of.differences(mode):
        first.setdefault(row.cells[mode].reason, row)
    return "".join(_tag("p", f"{row.unit.operator} at {where(row)}: {reason}", "soft")
                   for reason, row in first.items() if reason)


def _table(of: Comparison, key: str) -> str:
    modes = of.compared
    if not modes or not of.rows:
        return ""
    same = [all(cell.verdict == "same" for cell in row.cells.values()) for row in of.rows]
    head = "".join(_tag("th", name) for name in ("line", "module", "operator", "eager", *modes))
    rows = "\n".join(_row(row, modes, folded) for row, folded in zip(of.rows, same))
    box = (f'<input type="checkbox" id="all{key}"{" checked" if all(same) else ""}>'
           f'<label for="all{key}"> and the {count(sum(same), "operator")} that compute the same in every mode</label>'
           if any(same) else "")
    return (f"<h3>Operators</h3>{box}{_tag('p', _LEGEND, 'soft')}"
            f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>\n{rows}\n</tbody></table></div>')


def _row(row: Row, modes: Sequence[str], folded: bool) -> str:
    cells = [_tag("td", _line(row.unit.line)), _tag("td", row.unit.module), _tag("td", row.unit.operator),
             _tag("td", short_dtypes(row.eager.computed) if row.eager else "–")]
    for mode in modes:
        cell = row.cells.get(mode)
        if cell is None or cell.unit is None:
            cells.append(_tag("td", "–", "soft"))
            continue
        mark = {"cause": " !", "follower": " ~"}.get(cell.verdict, "")
        cells.append(_tag("td", short_dtypes(cell.unit.computed) + mark, cell.verdict, cell.reason))
    return f'<tr{" class=same" if folded else ""}>{"".join(cells)}</tr>'


def _outputs(of: Comparison) -> str:
    rows = [_output(mode, output) for mode in of.compared for output in of.outputs.get(mode, ())]
    if not rows:
        return ""
    head = "".join(_tag("th", name) for name in ("mode", "output", "dtype", "max error", "relative", ""))
    return (f'<h3>Values</h3><div class="wide"><table><thead><tr>{head}</tr></thead><tbody>'
            f'{"".join(rows)}</tbody></table></div>')


def _output(mode: str, of: OutputError) -> str:
    dtype = short_dtype(of.dtype) + ("" if of.same_dtype else f", eager {short_dtype(of.eager_dtype)}")
    verdict = of.problem or ("" if of.close else "beyond the tolerance")
    if of.not_finite:
        verdict += f"{'; ' if verdict else ''}{of.not_finite} not finite in one alone"
    return "<tr>" + "".join(_tag("td", text) for text in (mode, of.name, dtype, _number(of.max_abs),
                                                         _number(of.max_rel))) + _tag("td", verdict, "cause") + "</tr>"


def _notes(of: Comparison) -> str:
    rows = "".join(_tag("li", f"{mode}: {note}") for mode, notes in of.notes.items() for note in notes)
    return f"<h3>Notes</h3><ul>{rows}</ul>" if rows else ""


def _line(line: Line | None) -> str:
    return place(line) if line else ""


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _tag(name: str, text: str, kind: str = "", title: str = "") -> str:
    attributes = (f' class="{kind}"' if kind else "") + (f' title="{escape(title)}"' if title else "")
    return f"<{name}{attributes}>{escape(text)}</{name}>"

