"""Checks what a report says about single casts: marked.py has the expectations beside its lines."""

import dataclasses
import re
import sys

import pytest
import runs

SOURCE = runs.WORKLOADS / "marked.py"
MARK = re.compile(r"(?P<operator>[\w.]+)\.(?P<argument>\w+) (?P<role>[\w*]+) (?P<from>\w+)>(?P<to>\w+) "
                  r"(?P<casts>\d+)/(?P<hits>\d+) (?P<why>[\w-]+)(?: (?P<module>\S+))?$")


@dataclasses.dataclass
class Expected:
    line: int
    mark: dict

    def __str__(self):
        return f"{self.line}-{self.mark['operator']}-{self.mark['argument']}"


def expectations():
    for number, line in enumerate(SOURCE.read_text().splitlines(), 1):
        if "  # " in line and not line.lstrip().startswith("#"):
            for text in line.split("  # ", 1)[1].split("; "):
                yield Expected(number, MARK.match(text).groupdict() | {"line": line})


@pytest.fixture(scope="module")
def sites(tmp_path_factory):
    outcome = runs.under_castscope([sys.executable, str(SOURCE)], tmp_path_factory.mktemp("marked") / "run")
    assert outcome.status == 0, outcome.stderr.decode()
    return [site for site in outcome.report["sites"] if site["cause"] == "autocast"]


@pytest.mark.parametrize("expected", list(expectations()), ids=str)
def test_a_site_says_what_its_line_does(expected, sites):
    mark = expected.mark
    of_line = [site for site in sites if site["location"]["line"] == expected.line]
    found = [site for site in of_line
             if site["operator"] == f"aten::{mark['operator']}" and site["argument"] == mark["argument"]]
    assert found, [(site["operator"], site["argument"]) for site in of_line]
    assert sum(site["casts"] for site in found) == int(mark["casts"])
    assert sum(site["cache_hits"] for site in found) == int(mark["hits"])
    why = None if mark["why"] == "-" else mark["why"]
    for site in found:
        assert site["location"]["file"] == str(SOURCE)
        assert (site["from_dtype"], site["to_dtype"]) == (mark["from"], mark["to"])
        assert site["phase"] == ("backward" if "gradient" in mark["line"] else "forward")
        assert site["why_not_cached"] == why
        assert mark["role"] in ("*", site["role"])
        assert mark["module"] in (None, site["module"])


def test_a_region_is_where_its_with_stands(sites):
    lines = SOURCE.read_text().splitlines()
    with_lines = {number for number, line in enumerate(lines, 1) if line.startswith("with ")}
    outcome_regions = {site["region"] for site in sites}
    assert None not in outcome_regions and len(outcome_regions) <= len(with_lines)
