#!/usr/bin/env python3
"""Holds docs/sources.md against the tests: each row names a test that exists, each test of tests/sources is named."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "sources.md"
ROW = re.compile(r"^\| (?P<number>[A-Z]\d+) \| (?P<text>[^|]+) \| (?P<answer>[^|]+) \| (?P<tests>[^|]+) \|$")
TEST = re.compile(r"`(?P<file>[^`:]+\.py)::(?P<name>\w+)`")
MOST_PARTLY = 5


def rows(text):
    found = []
    for line in text.splitlines():
        if line.startswith("| ") and not line.startswith("| | "):
            row = ROW.match(line)
            if row is None:
                raise SystemExit(f"{PAGE.name}: this row is not NUMBER | TEXT | ANSWER | TESTS: {line}")
            found.append(row)
    return found


def tests_of(file):
    path = ROOT / file
    return set(re.findall(r"^ *def (test_\w+)\(", path.read_text(), re.MULTILINE)) if path.exists() else None


def complaints(found):
    named, numbers = set(), [row["number"] for row in found]
    for number in sorted({number for number in numbers if numbers.count(number) > 1}):
        yield f"two rows are {number}"
    for row in found:
        tests = TEST.findall(row["tests"])
        if not tests:
            yield f"{row['number']} names no test"
        for file, name in tests:
            named.add((file, name))
            there = tests_of(file)
            if there is None:
                yield f"{row['number']}: there is no {file}"
            elif name not in there:
                yield f"{row['number']}: {file} has no {name}"
    for path in sorted((ROOT / "tests" / "sources").glob("test_*.py")):
        file = str(path.relative_to(ROOT))
        for name in sorted(tests_of(file)):
            if (file, name) not in named:
                yield f"no row names {file}::{name}"
    partly = [row["number"] for row in found if "*partly*" in row["answer"]]
    if len(partly) > MOST_PARTLY:
        yield f"{len(partly)} rows are there in part only: {', '.join(partly)}"


def main():
    found = rows(PAGE.read_text())
    wrong = list(complaints(found))
    for complaint in wrong:
        print(f"{PAGE.relative_to(ROOT)}: {complaint}", file=sys.stderr)
    if not wrong:
        print(f"{len(found)} rows, each with its test")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
