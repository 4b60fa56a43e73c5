"""Kernels are timed and told of the operator that launched them, held against what the double of the GPU did.

The CPU build of PyTorch, real CUPTI calls, a virtual device (double/README.md).
"""

import json
import pathlib
import shlex
import subprocess
import sys

import pytest
import runs
import sharing
from reports import read_report

JOB = pathlib.Path(__file__).resolve().parent / "launching.py"
KERNELS_IN_CALL, NS_IN_CALL = 3, 6000


@pytest.fixture
def launch(cupti, tmp_path):
    """Runs the job under castscope. Returns its output, the truth, the report, and its standard error."""

    def run(steps, *more, faults="", options=("--gpu", "on", "--deep", "always")):
        log = tmp_path / "truth.jsonl"
        command = [str(runs.CASTSCOPE), "run", "-o", str(tmp_path / "run"), *options, "--",
                   sys.executable, str(JOB), str(cupti), str(steps), *map(str, more)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=runs.LIMIT_S,
                              env=runs.clean_environment() | {"CASTSCOPE_NOGPU_LOG": str(log),
                                                              "CASTSCOPE_NOGPU_FAULTS": faults})
        assert done.returncode == 0, done.stderr[-4000:]
        truth = [json.loads(line) for line in log.open()]
        return json.loads(done.stdout), truth, read_report(tmp_path / "run.json"), done.stderr

    return run


@pytest.fixture(scope="module")
def alone(cupti, job_profiler, tmp_path_factory):
    """What the job tells without castscope, by its steps and by when it profiles itself: forks of one process."""
    profiled = {(8, when): [str(job_profiler), when] for when in ("midway", "first", "first-unsubscribed")}
    programs = {job: shlex.join([str(JOB), str(cupti), str(job[0]), *more])
                for job, more in {(5, None): [], **profiled}.items()}
    command = sharing.command(programs.values(), *sharing.SEPARATED)
    outcome = runs.plain(command, tmp_path_factory.mktemp("alone") / "run")
    assert outcome.status == 0, outcome.stderr.decode()
    lines = sharing.printed(outcome, programs.values())
    return {job: json.loads(lines[program][0]) for job, program in programs.items()}


def operator(report, name):
    return next(row for row in report["gpus"]["by_operator"] if row["operator"] == name)


def test_kernels_are_their_operators_to_the_nanosecond(launch):
    told, truth, report, _ = launch(8)
    gpu = report["gpus"]
    assert gpu["gpu_timed_by"] == ["CUPTI of CUDA 13.0"]
    # The first operator of the first region is where timing begins: everything in regions comes after it.
    work = operator(report, "nogpu::work")
    assert (work["launches"], work["gpu_ns"]) == (told["calls"] * KERNELS_IN_CALL, told["calls"] * NS_IN_CALL)
    outside = operator(report, None)
    assert (outside["launches"], outside["gpu_ns"]) == (told["calls"], told["calls"] * 500)
    assert gpu["launches"] == gpu["gpu_records"] == len(truth)
    assert gpu["gpu_ns"] == sum(row["end"] - row["start"] for row in truth)
    assert (gpu["gpu_lost"], gpu["gpu_unplaced"], gpu["gpu_steps"]) == (0, 0, 8)
    lines = [row for row in gpu["operators"] if row["operator"] == "nogpu::work"]
    assert [(row["location"]["file"], row["location"]["function"]) for row in lines] == [(str(JOB), "train_a_step")]
    assert {row["kernel_name"] for row in gpu["by_kernel"]} == {"my_kernel(float*, int)", "outside_kernel"}


def test_sampled_steps_are_whole(launch):
    told, truth, report, _ = launch(40, options=("--gpu", "on"))
    steps = report["gpus"]["gpu_steps"]
    assert 3 <= steps < 40
    # Operators after an optimizer's step belong to no timed step, and may be observed for a while.
    work = operator(report, "nogpu::work")
    assert work["launches"] == steps * KERNELS_IN_CALL and work["gpu_ns"] == steps * NS_IN_CALL
    assert len(truth) > report["gpus"]["gpu_records"]


def test_records_that_cupti_drops_are_counted(launch):
    _, truth, report, _ = launch(20, faults="lose=7")
    gpu = report["gpus"]
    assert gpu["gpu_lost"] > 0
    assert gpu["gpu_records"] + gpu["gpu_lost"] == len(truth)


def test_buffers_out_of_order_change_nothing(launch):
    told, truth, report, _ = launch(20, faults="reorder")
    assert operator(report, "nogpu::work")["gpu_ns"] == told["calls"] * NS_IN_CALL
    assert report["gpus"]["gpu_records"] == len(truth) and report["gpus"]["gpu_lost"] == 0


def test_records_that_never_come_hold_nobody_up(launch):
    _, truth, report, _ = launch(3, faults="hold")
    assert report["gpus"]["gpu_records"] == 0
    assert report["gpus"]["gpu_lost"] == len(truth)


def test_a_taken_seat_is_left_alone_and_told(launch):
    _, _, report, _ = launch(3, faults="no-seat")
    assert report["gpus"]["launches"] == 0
    assert [seat["held_by"] for seat in report["gpus"]["gpu_seats"]] == ["another client of CUPTI"]
    assert report["gpus"]["gpu_seats"][0]["end_ns"] is None


def test_cupti_without_buffers_loses_records_and_nothing_else(launch):
    _, truth, report, _ = launch(5, faults="no-buffer")
    gpu = report["gpus"]
    assert gpu["gpu_records"] + gpu["gpu_lost"] >= len(truth) and gpu["gpu_lost"] > 0


def test_the_jobs_own_profiler_has_the_seat_while_it_wants_it(launch, job_profiler, alone):
    plain = alone[8, "midway"]
    assert plain["began"] == 0 and plain["profiled"] == 4 * (KERNELS_IN_CALL + 1)
    told, _, report, _ = launch(8, job_profiler, "midway")
    assert told == plain
    seats = report["gpus"]["gpu_seats"]
    assert [seat["held_by"] for seat in seats] == ["libjob_profiler.so"]
    assert operator(report, "nogpu::work")["launches"] == 4 * KERNELS_IN_CALL


@pytest.mark.parametrize("when", ["first", "first-unsubscribed"])
def test_a_profile_that_begins_before_anything_is_timed_is_the_jobs_alone(launch, job_profiler, alone, when):
    plain = alone[8, when]
    assert plain["began"] == 0 and plain["profiled"] == 4 * (KERNELS_IN_CALL + 1)
    told, _, report, _ = launch(8, job_profiler, when)
    assert told == plain
    assert [seat["held_by"] for seat in report["gpus"]["gpu_seats"]] == ["libjob_profiler.so"]
    assert report["gpus"]["gpu_seats"][0]["end_ns"] is not None
    assert operator(report, "nogpu::work")["launches"] == 4 * KERNELS_IN_CALL


def test_no_buffer_of_castscopes_is_left_with_cupti(launch, job_profiler):
    told, _, report, _ = launch(8, job_profiler, "after-storm", options=("--gpu", "on"))
    assert told["began"] == 0 and told["profiled"] == 4 * (KERNELS_IN_CALL + 1)
    assert report["gpus"]["gpu_lost"] == 0


def test_it_can_be_switched_off(launch):
    _, _, report, _ = launch(3, options=("--gpu", "off", "--deep", "always"))
    assert report["gpus"] is None


def test_the_job_itself_is_the_same(launch, alone):
    told, _, _, _ = launch(5)
    assert told == alone[5, None]


def test_a_job_without_cupti_says_why_it_is_not_timed(tmp_path):
    script = tmp_path / "job.py"
    script.write_text("import torch\nwith torch.autocast('cpu', torch.bfloat16): torch.ones(2, 2) @ torch.ones(2, 2)\n")
    done = subprocess.run([runs.CASTSCOPE, "run", "--gpu", "on", "-o", tmp_path / "run", "--", sys.executable, script],
                          env=runs.clean_environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    report = read_report(tmp_path / "run.json")
    assert report["gpus"]["gpu_timed_by"] == ["none: this process has no CUPTI (libcupti.so)"]
