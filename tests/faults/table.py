"""The table of docs/reliability.md: how many faults of each kind there were, and how many runs held."""

import collections
import pathlib

PAGE = pathlib.Path(__file__).resolve().parent.parent.parent / "docs" / "reliability.md"
BEGIN, END = "<!-- made by scripts/faults --table: begin -->", "<!-- made by scripts/faults --table: end -->"


def rows(done):
    """`done`: for each seed the kind, what did not hold, whether a job ran, the seconds."""
    counted = collections.defaultdict(list)
    for name, *outcome in done.values():
        counted[name].append(outcome)
    yield "| kind | faults | while a job ran | held | longest, s |"
    yield "|---|---|---|---|---|"
    for name in [*sorted(counted), "all"]:
        outcomes = counted[name] if name in counted else sum(counted.values(), [])
        held = sum(not problem for problem, _, _ in outcomes)
        struck = sum(struck for _, struck, _ in outcomes)
        longest = max((seconds for _, _, seconds in outcomes), default=0)
        yield f"| {name.replace('_', ' ')} | {len(outcomes)} | {struck} | {held} | {longest:.0f} |"


def write(done):
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text(before + BEGIN + "\n" + "\n".join(rows(done)) + "\n" + END + after)
    return 0
