"""FSDP's casts of parameters, which it makes while it copies them for the ranks to gather."""

import collections
import sys

import pytest
import runs
from clean_list import TORCHRUN

JOB = str(runs.WORKLOADS / "sharded.py")
STEPS, PARAMETERS = 3, 4
BYTES = 2 * (32 * 64 + 64 + 64 * 8 + 8)  # of all parameters in bfloat16


@pytest.mark.parametrize("ranks", [1, 2])
def test_parameters_count_as_weights_that_fsdp_casts(ranks, tmp_path):
    command = [sys.executable, JOB] if ranks == 1 else [*TORCHRUN, JOB]
    outcome = runs.under_castscope(command, tmp_path / "run")
    assert outcome.status == 0, outcome.stderr.decode()
    casts, size = collections.Counter(), collections.Counter()
    for site in outcome.report["sites"]:
        if site["cause"] == "fsdp":
            casts[site["role"], site["phase"]] += site["casts"]
            size[site["role"], site["phase"]] += site["bytes"]
    # Each is cast for forward, and after its memory was given back once more for backward; each rank has its part.
    for phase in ("other", "backward"):
        assert casts["weight", phase] == STEPS * PARAMETERS * ranks
        assert size["weight", phase] == STEPS * BYTES
    assert casts["input", "other"] == STEPS * ranks
    causes = {row["cause"]: row["casts"] for row in outcome.report["totals"]["by_cause"]}
    assert causes["fsdp"] == sum(casts.values())
    assert f"{causes['fsdp']} casts by FSDP's mixed precision, none by autocast" in outcome.stderr.decode()


def test_the_results_are_the_same(tmp_path):
    plain = runs.plain([sys.executable, JOB], tmp_path / "plain")
    watched = runs.under_castscope([sys.executable, JOB], tmp_path / "watched")
    assert plain.status == 0 and plain.stdout == watched.stdout
