"""Models have names that a user recognises, and making modules in a loop costs nothing that grows."""

import collections
import os
import pathlib
import sqlite3
import subprocess
import sys

from reports import read_report

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASTSCOPE = pathlib.Path(os.environ.get("CASTSCOPE_BUILD", ROOT / "build")) / "castscope"


def run(folder, script, *arguments):
    done = subprocess.run([CASTSCOPE, "run", "-o", folder / "run", "--", sys.executable,
                           pathlib.Path(__file__).with_name(script), *arguments],
                          check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout, read_report(folder / "run.json")


def uses(report):
    """Returns how often each model's weights were asked for."""
    counts = collections.Counter()
    for site in report["sites"]:
        if site["cause"] == "autocast" and (site["module"], site["argument"]) == ("body", "weight"):
            counts[site["model"]] += site["casts"] + site["cache_hits"]
    return counts


def test_networks_of_one_class_have_names_of_their_own(tmp_path):
    _, report = run(tmp_path, "two_models.py")
    # Later ones take the number of the one that is gone: Net#2 is the generator's 6 uses and theirs.
    assert uses(report) == {"Net": 3, "Net#2": 10}
    assert {site["root_module_type"] for site in report["sites"]} == {"Net"}
    with sqlite3.connect(f"file:{tmp_path / 'run.castscope'}?mode=ro", uri=True) as database:
        assert database.execute("SELECT DISTINCT model FROM v_sites ORDER BY 1").fetchall() == [("Net",), ("Net#2",)]


def test_modules_made_in_a_loop_cost_nothing_that_grows(tmp_path):
    count = 20_000
    stdout, report = run(tmp_path, "modules_in_a_loop.py", str(count))
    early, late = map(int, stdout.split())
    assert late - early < 1024, "pages of 4 kB"
    assert report["totals"]["casts"] == 3 * count
    assert {(site["model"], site["argument"], site["casts"]) for site in report["sites"]} == {
        ("Linear", argument, count) for argument in ("input", "weight", "bias")}
    assert (tmp_path / "run.castscope").stat().st_size < 1 << 20
