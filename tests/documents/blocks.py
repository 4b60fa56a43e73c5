"""The code blocks of README.md and of docs/."""

import dataclasses
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ["README.md", *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(?P<language>[^\n`]*)\n(?P<text>.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)


@dataclasses.dataclass(frozen=True)
class Block:
    page: str
    line: int  # of its first line
    language: str
    text: str
    follows: bool  # nothing stands between it and the block before: it is what that block prints

    @property
    def name(self):
        """How tests call it: by the begin of its first line, since lines may move."""
        return f"{self.page}: {self.text.strip()[:60].splitlines()[0].strip()}" if self.text.strip() else self.page


def blocks_of(page):
    text = (ROOT / page).read_text()
    end, blocks = -1, []
    for found in FENCE.finditer(text):
        follows = end >= 0 and not text[end:found.start()].strip()
        line = text.count("\n", 0, found.start()) + 2
        blocks.append(Block(page, line, found["language"].strip(), found["text"], follows))
        end = found.end()
    return blocks


def all_blocks():
    return [block for page in PAGES for block in blocks_of(page)]


def without_comments(text):
    """JSON of JSON with comments; `//` within a string stays."""
    return re.sub(r'("(?:[^"\\]|\\.)*")|//[^\n]*', lambda found: found[1] or "", text)


def is_printed(expected, output):
    """Whether a program's output holds all that a page shows of it, in order. `…` stands for anything. Numbers may
    differ, and so may the places where lines are broken."""
    def shape(text):
        return " ".join(re.sub(r"\d+(\.\d+)?", "0", text).split())
    pattern = ".*".join(re.escape(shape(part)) for part in expected.split("…"))
    return re.search(pattern, shape(output), re.DOTALL) is not None
