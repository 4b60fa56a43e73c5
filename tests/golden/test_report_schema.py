"""The golden reports are valid by docs/report.schema.json, and the schema says no to what is not a report."""

import copy
import json
import re
from pathlib import Path

import jsonschema
import pytest
from closed_schema import closed

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs/report.schema.json").read_text())


VALIDATOR = jsonschema.Draft202012Validator(closed(SCHEMA))
REPORTS = sorted((ROOT / "tests/golden/reports").glob("*.json"))


def report():
    return json.loads((ROOT / "tests/golden/reports/two_ranks.json").read_text())


def errors(value):
    return [error.message for error in VALIDATOR.iter_errors(value)]


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_there_are_reports():
    assert len(REPORTS) >= 3


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.stem)
def test_golden_reports_are_valid(path):
    assert errors(json.loads(path.read_text())) == []


@pytest.mark.parametrize("key", sorted(SCHEMA["required"]))
def test_every_key_is_needed(key):
    less = report()
    del less[key]
    assert errors(less)


def test_every_member_is_described():
    more = report()
    more["totals"]["cast"] = 1
    assert errors(more)
    assert jsonschema.Draft202012Validator(SCHEMA).is_valid(more), "a reader lets a newer minor format be"


@pytest.mark.parametrize(
    "change",
    [
        lambda r: r["sites"][0].update(cause="magic"),
        lambda r: r["sites"][0].update(why_not_cached="none"),
        lambda r: r["sites"][0].update(casts=-1),
        lambda r: r["frames"][0].pop("line"),
        lambda r: r["sites"][0].pop("fingerprint"),
        lambda r: r["sites"][0].update(stack_index=-1),
        lambda r: r["findings"][0].update(severity="bad"),
        lambda r: r["totals"]["by_cause"][0].update(cause="magic"),
        lambda r: r["run"].update(exit_status="0"),
        lambda r: r["processes"][0].update(end_kind="killed"),
    ],
)
def test_wrong_values_are_refused(change):
    wrong = copy.deepcopy(report())
    change(wrong)
    assert errors(wrong)


def test_closed_lists_are_those_that_are_recorded():
    text = (ROOT / "agent/lanes/closed_lists.h").read_text()
    lists = dict(re.findall(r"#define (CASTSCOPE_[A-Z_]+)\((?:VALUE|FACT)\)((?:.*\\\n)+.*\n)", text))
    words = {name: re.findall(r'(?:VALUE|FACT)\(k\w+, \d+,\s*\\?\s*"([^"]+)"', entries)
             for name, entries in lists.items()}
    site = SCHEMA["properties"]["sites"]["items"]["properties"]
    assert words["CASTSCOPE_CAUSES"] == site["cause"]["enum"]
    assert words["CASTSCOPE_ROLES"] == site["role"]["enum"]
    assert words["CASTSCOPE_PHASES"] == site["phase"]["enum"]
    assert words["CASTSCOPE_REASONS_NOT_TO_CACHE"] == ["none"] + [v for v in site["why_not_cached"]["enum"] if v]
    region = SCHEMA["properties"]["regions"]["items"]["properties"]
    assert words["CASTSCOPE_REGION_KINDS"] == region["region_kind"]["enum"]


def test_the_codes_of_what_is_missing_are_those_of_the_table():
    table = (ROOT / "server/store/run/incomplete.h").read_text()
    words = re.findall(r'REASON\(k\w+, \d+, "(\w+)"', table)
    codes = SCHEMA["properties"]["run"]["properties"]["missing"]["items"]["properties"]["incomplete_reason"]
    assert len(words) > 5 and words == codes["enum"]
    assert not [word for word in words if f"{word}: " not in codes["description"]], "each is explained"
