"""What is found in training and evaluation does not depend on how many steps were looked at."""

import pathlib
import sys

import runs

PHASES = pathlib.Path(__file__).with_name("rules") / "phases.py"


def found(folder, *options):
    outcome = runs.under_castscope([sys.executable, str(PHASES)], folder, *options)
    assert outcome.status == 0, outcome.stderr.decode()
    return [finding for finding in outcome.report["findings"] if finding["rule"] == "phase-dtype-drift"]


def test_each_drift_is_found_once_at_one_place(tmp_path):
    by_default, always = found(tmp_path / "default"), found(tmp_path / "always", "--deep", "always")
    assert by_default
    assert [finding["location"] for finding in by_default] == [finding["location"] for finding in always]
    for finding in [*by_default, *always]:
        lines = [(place["file"], place["line"]) for place in [finding["location"], *finding["related"]]]
        assert len(lines) == len(set(lines)), finding
