"""How many ranks of a launcher were seen: a run without one of them is not complete."""

import pathlib
import sys

import pytest
from program import clean_environment
from work import eventually

# --standalone asks for "localhost" by name, which a bare system cannot resolve.
TORCHRUN = (pathlib.Path(sys.executable).with_name("torchrun"), "--nnodes", "1", "--rdzv-backend", "c10d",
            "--rdzv-endpoint", "127.0.0.1:0", "--rdzv-id", "ranks", "--local-addr", "127.0.0.1")
JOB = """
import os, sys, torch
import torch.distributed as dist
if "LOCAL_WORLD_SIZE" in os.environ and "alone" not in sys.argv:
    dist.init_process_group("gloo")
    dist.all_reduce(torch.ones(1))
    dist.destroy_process_group()
if os.environ.get("RANK") != "2":  # which has PyTorch, and casts nothing
    with torch.autocast("cpu", torch.bfloat16):
        torch.nn.Linear(4, 4)(torch.randn(2, 4))
"""


@pytest.fixture
def job(castscope):
    (castscope.folder / "job.py").write_text(JOB)
    return "job.py"


def ranks(run):
    return run["expected_ranks"], run["seen_ranks"]


def launched(castscope, job, of_rank_1=""):
    script = f"[ $LOCAL_RANK = 1 ] && exec env {of_rank_1} '{sys.executable}' {job}; exec '{sys.executable}' {job}"
    done = castscope.run(*TORCHRUN, "--nproc-per-node", "3", "--no-python", "sh", "-c", script, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_all_ranks_are_seen_also_one_that_casts_nothing(castscope, job):
    said = launched(castscope, job)
    run = castscope.report()["run"]
    assert (*ranks(run), run["complete"]) == (3, 3, True) and "ranks were seen" not in said
    assert len(castscope.report()["processes"]) == 2
    assert castscope("check", "run.castscope").returncode in (0, 1)


@pytest.mark.parametrize("leave_out", ["CASTSCOPE_OFF=1", "-u LD_PRELOAD"])
def test_a_rank_that_was_not_seen_is_missing(castscope, job, leave_out):
    said = launched(castscope, job, leave_out)
    report = castscope.report()
    assert "2 of 3 ranks were seen" in said
    assert (*ranks(report["run"]), report["run"]["complete"]) == (3, 2, False)
    assert report["run"]["missing"] == [{"incomplete_reason": "ranks_missing", "process": None,
                                         "sentence": "2 of 3 ranks were seen"}]
    checked = castscope("check", "--fail-on", "error", "run.castscope", text=True)
    assert checked.returncode == 3 and "2 of 3 ranks were seen" in checked.stdout
    for form in ("html", "md", "sarif"):
        assert "2 of 3 ranks were seen" in castscope("report", "-f", form, "run.castscope", text=True).stdout, form


def test_a_rank_whose_process_cannot_be_observed_is_not_seen(castscope, job, python):
    """Without LOCAL_WORLD_SIZE, the ranks that tell of themselves are expected."""
    script = f"RANK=0 '{python}' {job}; RANK=1 CASTSCOPE_ENFORCE=/nowhere '{python}' {job}; echo $?"
    done = castscope.run("sh", "-c", script, text=True)
    assert done.stdout == "125\n" and "1 of 2 ranks were seen" in done.stderr
    assert ranks(castscope.report()["run"]) == (2, 1)


def test_a_rank_that_nobody_attached_to_is_not_seen(castscope, job, python):
    """Rank 1 asks for itself. The request holds until the process comes to it, which is when it next casts."""
    ask = f"import os, subprocess; subprocess.run(['{castscope.program}', 'attach', '--wait', '0', str(os.getpid())])\n"
    (castscope.folder / "asks.py").write_text(JOB.replace("if os.environ.get", ask + "if os.environ.get", 1))
    ranks_of = f"RANK=0 '{python}' {job} alone; RANK=1 '{python}' asks.py alone"
    both = f"export LOCAL_WORLD_SIZE=2; {ranks_of}"
    done = castscope("run", "--armed", "-o", "run", "--", "sh", "-c", both, text=True)
    assert "1 of 2 ranks were seen" in done.stderr
    assert ranks(castscope.report()["run"]) == (2, 1)


@pytest.mark.parametrize("bare", [False, True])
def test_one_rank_of_a_launcher_does_not_wait_for_the_others(castscope, job, python, bare):
    rank = {"LOCAL_WORLD_SIZE": "8", "LOCAL_RANK": "5", "RANK": "13"}
    if bare:
        castscope.bare(python, job, "alone", env=rank | {"CASTSCOPE_OUT": str(castscope.folder / "run")})
        run = eventually(castscope.folder / "run.json")["run"]
    else:
        assert castscope.run(python, job, "alone", env=clean_environment(**rank)).returncode == 0
        run = castscope.report()["run"]
    assert (*ranks(run), run["complete"]) == (1, 1, True)


def test_a_job_without_a_launcher_has_no_ranks(castscope, job, python):
    assert castscope.run(python, job).returncode == 0
    assert ranks(castscope.report()["run"]) == (None, None)
