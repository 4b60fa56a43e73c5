"""Collects the results of all comparisons. expected.json lists the differences that are expected."""

import collections
import dataclasses
import fnmatch
import json
import pathlib
import re

EXPECTED = pathlib.Path(__file__).resolve().with_name("expected.json")


@dataclasses.dataclass
class Expected:
    """A difference that is meant. `file` and `command` are patterns as of a shell; `why` is a sentence.

    `lines` is a regular expression: nothing may differ but the lines that match it, so that nothing hides behind it.
    Where several fit a command, each may explain a part of what differs.
    """

    file: str
    command: str
    why: str
    lines: re.Pattern
    met: int = 0

    def fits(self, file, command):
        return fnmatch.fnmatchcase(file, self.file) and fnmatch.fnmatchcase(command, self.command)


def explain(difference, entries):
    """Returns those of the entries that are needed to explain all of the difference; none where something is left."""
    if not entries or not difference.lies_in([entry.lines for entry in entries]):
        return []
    needed = list(entries)
    for entry in entries:
        others = [one for one in needed if one is not entry]
        if others and difference.lies_in([one.lines for one in others]):
            needed = others
    return needed


def read_expected(path=EXPECTED):
    """Every key is needed: a difference that nobody can explain is not expected."""
    return [Expected(one["file"], one["command"], one["why"], re.compile(one["lines"].encode()))
            for one in json.loads(path.read_text())]


class Result:
    """Prints each difference as it is found; counts them."""

    def __init__(self, expected):
        self.expected = expected
        self.compared = self.unexpected = 0
        self.by_nature = collections.defaultdict(list)  # command and part → files
        self.notes = []

    def add(self, file, command, differences, by_nature=()):
        self.compared += 1
        for part in by_nature:
            self.by_nature[f"{command}: {part}"].append(file)
        for difference in differences:
            needed = explain(difference, [one for one in self.expected if one.fits(file, command)])
            for entry in needed:
                entry.met += 1
            if needed:
                continue
            self.unexpected += 1
            print(f"{file}: {command}: {difference.part} differs", flush=True)
            print("".join(f"    {line}\n" for line in difference.excerpt.splitlines()), flush=True)

    def note(self, sentence):
        self.notes.append(sentence)

    def summary(self):
        for entry in self.expected:
            how = f"met {entry.met} times" if entry.met else "not met this time"
            yield f"expected, {how}: {entry.file}: {entry.command}: {entry.why}"
        if self.by_nature:
            yield "What differs from itself under that commit; only lines that it has each time were compared:"
        for what, files in self.by_nature.items():
            yield f"    {what} ({', '.join(dict.fromkeys(files))})"
        yield from self.notes
        yield f"{self.compared} comparisons, {self.unexpected} differences that are not expected"

    def status(self):
        return 1 if self.unexpected else 0
