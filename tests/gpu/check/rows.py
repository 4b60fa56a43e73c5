"""The lines of gpu-check's table."""

import dataclasses

FINE, MISSED, FAILED, SKIPPED, TOLD = "ok", "MISSED", "FAILED", "skipped", ""


@dataclasses.dataclass
class Row:
    part: str
    what: str
    measured: str
    target: str = ""
    verdict: str = TOLD


def judged(part, what, value, most, form="{:.3f}"):
    """A figure beside its target."""
    return Row(part, what, form.format(value), "≤ " + form.format(most), FINE if value <= most else MISSED)


def checked(part, what, is_right, wrong="", target="the same", right="yes"):
    return Row(part, what, right if is_right else wrong or "no", target, FINE if is_right else FAILED)


def table(rows):
    """As Markdown, columns lined up."""
    cells = [("part", "what", "measured", "target", "")]
    cells += [tuple(text.replace("|", "/").replace("\n", " ") for text in dataclasses.astuple(row)) for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(5)]
    lines = ["| " + " | ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)) + " |"
             for line in cells]
    return "\n".join([lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]])
