"""docs/adding.md names files: each of them is there, and what it says of them holds."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/adding.md").read_text()
PATHS = sorted(set(re.findall(r"`([\w.-]+/[\w./-]+)`", PAGE)))

# What the page says is in a file: a line to add one of its kind stands beside these.
HOLDS = {
    "server/rules/list.h": "RULE(cache_grows)",
    "agent/lanes/closed_lists.h": "CASTSCOPE_FACT_KINDS",
    "agent/lanes/gauges.h": "CASTSCOPE_LATER_GAUGES",
    "proto/castscope/v1/castscope.proto": "message Gauges",
    "agent/lanes/definition_records.h": "CASTSCOPE_DEFINITION_KINDS",
    "server/store/run/row_definitions.h": "CASTSCOPE_ROW_DEFINITIONS",
    "server/store/run/deep_data.h": "columns(",
    "server/store/run/incomplete.h": "REASON(kEventsMissing",
    "server/store/run/completeness.cc": "IncompleteReason::kEventsMissing",
    "server/report/forms/formats.cc": "FormatName{",
    "agent/torch/torch_seam.cc": "TORCH_VERSION_MINOR",
    "agent/session/facts.h": "note_fact",
    "server/cli/commands/schema.cc": "kSchemas[]",
    "server/report/text/document.h": "kCheckForm",
}


@pytest.mark.parametrize("path", PATHS)
def test_what_it_names_is_there(path):
    pattern = path.replace("NAME", "*").replace("GROUP", "*")
    assert next(ROOT.glob(pattern), None) is not None


@pytest.mark.parametrize("path", HOLDS)
def test_what_it_says_of_a_file_holds(path):
    assert path in PATHS
    assert HOLDS[path] in (ROOT / path).read_text()


def test_each_addition_has_its_list():
    sections = re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]
    titles = {section.splitlines()[0]: len(re.findall(r"^\d+\. ", section, re.MULTILINE)) for section in sections}
    assert titles == {"A rule": 2, "A fact": 2, "A gauge": 4, "A kind of definition": 6,
                      "A reason why a run is not complete": 3, "A form of report": 4, "A policy that is shipped": 1,
                      "A schema": 2, "A key in the JSON of a command": 4,
                      "A version of PyTorch": 3}
