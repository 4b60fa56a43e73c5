"""Compares the answers of two programs to the same question, byte for byte.

An answer is made of parts: the exit status, both streams, and each file that was written. Where two answers differ, the
first program is asked again: a part of its own answer that differs then differs by nature, and says nothing about the
second program. In such a part only the lines that the first program gives each time are compared.
"""

import collections
import dataclasses
import difflib
import itertools
import os
import re
import subprocess
import sys
import tempfile
import typing

import runs

LIMIT_S = 900
SHOWN_LINES, SHOWN_WIDTH = 12, 160
WINDOW = 1 << 16  # bytes of a stream that are shown, and looked at, around its first difference
CHUNK = 1 << 20
IN_MEMORY = 1 << 26  # bytes of each answer
DIGITS = re.compile(rb"[0-9]+")


@dataclasses.dataclass
class Answer:
    status: int
    stdout: bytes = b""
    stderr: bytes = b""
    files: dict = dataclasses.field(default_factory=dict)

    def less(self, words):
        """With an underscore for what these patterns match."""
        for pattern in words:
            self.stdout, self.stderr = pattern.sub(b"_", self.stdout), pattern.sub(b"_", self.stderr)
            self.files = {name: pattern.sub(b"_", content) for name, content in self.files.items()}
        return self

    def parts(self):
        return {"exit status": b"%d\n" % self.status, "stdout": self.stdout, "stderr": self.stderr,
                **{f"file {name}": content for name, content in self.files.items()}}


@dataclasses.dataclass
class Difference:
    """A difference in one part of an answer."""

    part: str
    excerpt: str
    # Leaves out the lines that match one of these patterns. Returns whether the two texts are equal then.
    lies_in: typing.Callable[[list[re.Pattern]], bool] = lambda patterns: False


def without(patterns, text):
    """The text's lines but for those that match. A pattern with the flag (?s) matches stretches of several lines."""
    for pattern in patterns:
        if pattern.flags & re.DOTALL:
            text = pattern.sub(b"", text)
    return [line for line in text.split(b"\n") if not matches(patterns, line)]


def matches(patterns, line):
    return any(pattern.search(line) for pattern in patterns if not pattern.flags & re.DOTALL)


def ask(program, arguments, folder, environment=None):
    """Calls the program in `folder` and returns its answer. Files that it writes there are part of the answer and are
    deleted."""
    before = set(folder.iterdir())
    done = subprocess.run(["castscope", *map(str, arguments)], executable=str(program), cwd=folder, check=False,
                          env=runs.clean_environment() | (environment or {}), stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=LIMIT_S)
    answer = Answer(done.returncode, done.stdout, done.stderr)
    for path in sorted(set(folder.iterdir()) - before):
        answer.files[path.name] = path.read_bytes()
        path.unlink()
    return answer


def cut(line):
    line = line.rstrip(b"\r\n").decode("utf-8", "backslashreplace")
    return line if len(line) <= SHOWN_WIDTH else line[:SHOWN_WIDTH] + " …"


def first_unequal(was, now):
    """Returns the position of the first byte that differs."""
    same, most = 0, min(len(was), len(now))
    while same < most:
        middle = (same + most + 1) // 2
        if was[same:middle] == now[same:middle]:
            same = middle
        else:
            most = middle - 1
    return same


def around_first_difference(was, now):
    """Shortens both to the part around the first difference: a report may be one line of a megabyte."""
    at = first_unequal(was, now)
    begin = was.rfind(b"\n", 0, at) + 1
    if at - begin > SHOWN_WIDTH // 2:
        begin = at - SHOWN_WIDTH // 2
    else:
        for _ in range(2):  # two lines before, to tell where one is
            begin = was.rfind(b"\n", 0, max(begin - 1, 0)) + 1
    return was[begin:begin + WINDOW], now[begin:begin + WINDOW]


def difference(part, was, now):
    """Describes the difference between two texts that are not equal."""
    return Difference(part, excerpt(was, now), lambda patterns: without(patterns, was) == without(patterns, now))


def excerpt(was, now):
    was, now = around_first_difference(was, now)
    lines = list(difflib.diff_bytes(difflib.unified_diff, was.splitlines(), now.splitlines(), b"that commit",
                                    b"this tree", lineterm=b"", n=2))
    if not lines:  # in the kind of line end alone
        lines = [f"-{was[:SHOWN_WIDTH]!r}".encode(), f"+{now[:SHOWN_WIDTH]!r}".encode()]
    return shown(lines)


def shown(lines):
    return "\n".join([cut(line) for line in lines[:SHOWN_LINES]] + ["…"] * (len(lines) > SHOWN_LINES))


def in_steady_lines(part, answers, now):
    """A difference in what each answer of the first program has: lines of these that `now` lacks. Else None.

    Of the lines that only `now` has, those are left out that the first program has with other digits: a time of its
    own, say.
    """
    lines = [collections.Counter(text.split(b"\n")) for text in answers]
    steady, other = lines[0], collections.Counter(now.split(b"\n"))
    for more in lines[1:]:
        steady &= more
    missing = list((steady - other).elements())
    if not missing:
        return None
    known = {DIGITS.sub(b"0", line) for text in answers for line in text.split(b"\n")}
    new = [line for line in (other - collections.Counter(b"\n".join(answers).split(b"\n"))).elements()
           if DIGITS.sub(b"0", line) not in known]
    changed = [b"-" + line for line in missing] + [b"+" + line for line in new]
    return Difference(part, shown(changed), lambda patterns: all(matches(patterns, line) for line in missing + new))


def compare(was, now, ask_again):
    """(differences, parts that differ by nature). `ask_again` gives more answers of the first program."""
    was_parts, now_parts = was.parts(), now.parts()
    unlike = [part for part in {**was_parts, **now_parts} if was_parts.get(part) != now_parts.get(part)]
    if not unlike:
        return [], []
    more = [answer.parts() for answer in ask_again()]
    differences, by_nature = [], []
    for part in unlike:
        answers, other = [parts.get(part) for parts in (was_parts, *more)], now_parts.get(part)
        if other is None or None in answers:
            who = "this tree" if was_parts.get(part) is None else "that commit"
            steady = len({answer is None for answer in answers}) == 1
            found = Difference(part, f"only {who} has it") if steady else None
        elif len(set(answers)) == 1:
            found = difference(part, answers[0], other)
        else:
            found = in_steady_lines(part, answers, other)
        differences += [found] if found else []
        by_nature += [] if found else [part]
    return differences, by_nature


def compare_recordings(was, recordings, controls):
    """As compare(), with what several recordings by the second program gave, each made when it is asked for.

    What a job does can depend on where its memory lies. A difference counts when each recording has it; one that is not
    in each is told among what differs by nature.
    """
    differences, by_nature = None, []
    for now in recordings:
        found, more = compare(was, now, controls)
        by_nature += [part for part in more if part not in by_nature]
        parts = {difference.part for difference in found}
        for difference in differences or []:
            if difference.part not in parts:
                by_nature.append(f"{difference.part}, not in each recording by this tree")
        differences = [one for one in differences or found if one.part in parts]
        if not differences:
            break
    return differences, by_nature


def compare_streams(was_program, now_program, arguments, folder):
    """As compare(), for answers too large to be kept: both programs are called at once, and write side by side."""
    def call_both():
        return [Streaming(program, arguments, folder) for program in (was_program, now_program)]

    calls = call_both()
    found = first_difference_of(*calls)
    was, now = (Answer(call.end(), b"", call.stderr()) for call in calls)
    differences, by_nature = compare(was, now, lambda: [was])
    if found is not None:
        differences.insert(0, Difference("stdout", found, lambda patterns: differ_in_lines(*call_both(), patterns)))
    return differences, by_nature, calls[0].bytes


def differ_in_lines(was, now, patterns):
    """Whether only these lines differ. Asks once more.

    Stretches of several lines are looked for where both answers fit in memory; else each line is looked at by itself.
    """
    outputs = [call.process.stdout for call in (was, now)]
    begins = [output.read(IN_MEMORY) for output in outputs]
    if all(len(begin) < IN_MEMORY for begin in begins):
        same = without(patterns, begins[0]) == without(patterns, begins[1])
    else:
        kept = ((line for line in lines_of(begin, output) if not matches(patterns, line.rstrip(b"\n")))
                for begin, output in zip(begins, outputs, strict=True))
        same = all(one == other for one, other in itertools.zip_longest(*kept))
    was.end(), now.end()
    return same


def lines_of(begin, output):
    """The lines of an output of which `begin` was read already."""
    yield from (begin + output.readline()).splitlines(keepends=True)
    for line in output:  # noqa: UP028 - `yield from` would close the output with the generator
        yield line


class Streaming:
    """A call of a program whose standard output is read as it comes."""

    def __init__(self, program, arguments, folder):
        self.errors = tempfile.TemporaryFile()
        self.bytes = 0
        self.process = subprocess.Popen(["castscope", *map(str, arguments)], executable=str(program), cwd=folder,
                                        env=runs.clean_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=self.errors)

    def read(self):
        chunk = self.process.stdout.read(CHUNK)
        self.bytes += len(chunk)
        return chunk

    def end(self):
        while self.read():
            pass
        return self.process.wait()

    def stderr(self):
        return os.pread(self.errors.fileno(), WINDOW, 0)


def first_difference_of(was, now):
    before = b""
    while True:
        one, other = was.read(), now.read()
        if one != other:
            return excerpt(before + one, before + other)
        if not one:
            return None
        before = one[-SHOWN_WIDTH:]


def say(text):
    print(text, file=sys.stderr, flush=True)
