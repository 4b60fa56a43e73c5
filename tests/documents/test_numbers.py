"""Numbers and versions that pages state are those of the code."""

import re
import sqlite3

from blocks import ROOT


def text(path):
    return (ROOT / path).read_text()


def number(page, pattern):
    (found,) = set(re.findall(pattern, text(page)))
    return int(found.replace(",", ""))


def test_the_format_of_a_run_file(workshop):
    with sqlite3.connect(workshop.folder / "train.castscope") as run:
        (version,) = run.execute("PRAGMA user_version").fetchone()
    assert number("docs/run-file.md", r"`PRAGMA user_version` the format, now (\d+)") == version


def test_when_a_step_is_deep():
    page = "docs/decisions/deep-steps.md"
    schedule = text("agent/operators/schedule.h").replace("'", "")
    constants = {name: int(value) for name, value in re.findall(r"(k\w+) = (\d+)", schedule)}
    assert constants["kOperatorsFree"] == number(page, r"Free are ([\d,]+) operators")
    assert constants["kOperatorsPerPlace"] == number(page, r"and (\d+) more for each place")
    assert constants["kMostFreeNs"] == 500_000_000 and "less than half a second was measured" in text(page)
    assert constants["kQuietOperators"] == number(page, r"after ([\d,]+) operators of which none came from a new place")
    assert round(100 / constants["kNewCodeDivisor"]) == number(page, r"looking may take (\d+) % of the time")
    assert constants["kBudgetDivisor"] == 500 and "less than 0.2 % of the time" in text(page)
    assert constants["kTimesMeasured"] == 3 and "hold three times the measured time" in text(page)
    assert constants["kFirstSteps"] == 3 and "- the first three steps;" in text(page)
    assert constants["kOperatorsInTail"] == number(page, r"([\d,]+) operators of each such stretch")
    assert constants["kOperatorsInFirstTails"] == number(page, r"([\d,]+) of all stretches together are free")


def test_versions():
    page = text("docs/platforms.md")
    torch = re.search(r"^torch_version=(\S+)", text("scripts/setup.sh"), re.MULTILINE)[1]
    assert f"| PyTorch | {torch}, the CPU build |" in page
    minimum = re.search(r'requires-python = ">=([\d.]+)"', text("pyproject.toml"))[1]
    assert f"Python {minimum} or later" in page
    layouts = re.search(r"bool layout_of\(.*?\n}", text("agent/cpython/python_api.cc"), re.DOTALL)[0]
    minors = re.findall(r"case (\d+):", layouts)
    assert "CPython " + ", ".join(f"3.{minor}" for minor in minors[:-1]) + f" or 3.{minors[-1]}, with the GIL" in page
