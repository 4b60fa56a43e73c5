"""castscope in a CUDA build of PyTorch, on the double of a GPU: held against what the device did, and torch.profiler.

scripts/check-cuda-build sets CASTSCOPE_GPU_DOUBLE and CASTSCOPE_CUDA_PYTHON; skipped without them.
"""

import json
import os
import pathlib
import sqlite3
import subprocess
from collections import Counter

import pytest
import runs
from reports import read_report

HERE = pathlib.Path(__file__).resolve().parent
DOUBLE = os.environ.get("CASTSCOPE_GPU_DOUBLE", "")
KERNEL_NS = 2000  # at least
PYTHON = os.environ.get("CASTSCOPE_CUDA_PYTHON", "")

pytestmark = pytest.mark.skipif(not DOUBLE or not PYTHON,
                                reason="needs a CUDA build of PyTorch: scripts/check-cuda-build")


@pytest.fixture
def job(tmp_path):
    """Runs a job of cuda_jobs.py. Returns its output, the truth, and the report."""

    def run(*arguments, options=("--deep", "always"), under=True, faults="", devices=1):
        log = tmp_path / "truth.jsonl"
        log.unlink(missing_ok=True)
        command = [HERE / "double" / "under", DOUBLE, PYTHON, HERE / "cuda_jobs.py", *arguments]
        if under:
            command = [runs.CASTSCOPE, "run", "-o", tmp_path / "run", "--force", *options, "--", *command]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=900,
                              env=runs.clean_environment() | {"CASTSCOPE_NOGPU_LOG": str(log),
                                                              "CASTSCOPE_NOGPU_FAULTS": faults,
                                                              "CASTSCOPE_NOGPU_DEVICES": str(devices)})
        assert done.returncode == 0, done.stderr[-4000:]
        report = read_report(tmp_path / "run.json") if under else None
        return json.loads(done.stdout.splitlines()[-1]), [json.loads(line) for line in log.open()], report

    return run


def demangled(names):
    readable = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True).stdout.splitlines()
    return dict(zip(names, readable, strict=True))


def by_name(rows):
    """Returns launches and ns by kernel."""
    launches, ns = Counter(), Counter()
    names = demangled(sorted({row["name"] for row in rows}))
    for row in rows:
        launches[names[row["name"]]] += 1
        ns[names[row["name"]]] += row["end"] - row["start"]
    return launches, ns


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_all_that_the_device_did_is_told(job, dtype):
    _, truth, report = job("train", dtype)
    gpu = report["gpus"]
    assert (gpu["gpu_lost"], gpu["gpu_unplaced"]) == (0, 0)
    # Timing begins with the first operator on the GPU within a region; earlier work is not reported.
    told = truth[len(truth) - gpu["gpu_records"]:]
    assert len(told) > 0.9 * len(truth)
    launches, ns = by_name(told)
    assert {row["kernel_name"]: row["launches"] for row in gpu["by_kernel"]} == launches
    assert {row["kernel_name"]: row["gpu_ns"] for row in gpu["by_kernel"]} == ns
    # Each autocast cast copies once.
    casts = sum(site["casts"] for site in report["sites"] if site["device"] == "cuda")
    assert gpu["cast_launches"] == casts


def test_operators_take_what_torch_profiler_says(job):
    profiled, _, _ = job("profile", under=False)
    _, _, report = job("train")
    launches, ns = Counter(), Counter()
    for row in report["gpus"]["by_operator"]:
        name = (row["operator"] or "none").split(".")[0]
        launches[name] += row["launches"]
        ns[name] += row["gpu_ns"]
    # The first step's begin is not timed; all operators of the model are.
    for name in ("aten::linear", "aten::layer_norm", "aten::gelu", "aten::mm", "aten::scaled_dot_product_attention"):
        assert launches[name] == profiled["launches"][name], name
        assert ns[name] == pytest.approx(profiled["ns"][name], abs=launches[name]), name  # its clock rounds


@pytest.mark.parametrize("when", ["profiled_midway", "profiled_at_first"])
def test_the_jobs_own_profile_is_the_same(job, when):
    plain, _, _ = job(when, under=False)
    told, _, report = job(when)
    assert told == plain
    seats = report["gpus"]["gpu_seats"]
    assert [seat["held_by"] for seat in seats] == ["torch.profiler"]
    assert seats[0]["end_ns"] > seats[0]["begin_ns"]
    assert report["gpus"]["launches"] > 0


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_casts_are_timed_by_events_while_another_one_has_the_seat(job, dtype):
    _, truth, report = job("train", dtype, faults="no-seat")
    gpu = report["gpus"]
    assert (gpu["launches"], gpu["gpu_records"], gpu["cast_launches"]) == (0, 0, 0)
    assert [seat["held_by"] for seat in gpu["gpu_seats"]] == ["another client of CUPTI"]
    by_events = gpu["casts_by_events"]
    assert by_events["gpu_casts_untimed"] == 0 and by_events["gpu_event_steps"] >= 6
    casts = {site["site"]: site["casts"] for site in report["sites"] if site["device"] == "cuda" and site["casts"] > 0}
    assert {row["site"]: row["launches"] for row in by_events["sites"]} == casts
    # Each cast's copy ran between its two events, and none is shorter (double/README.md).
    assert by_events["gpu_ns_at_most"] >= KERNEL_NS * by_events["cast_launches"]
    assert by_events["ns_at_most"] <= truth[-1]["end"] - truth[0]["start"]


def test_cupti_is_left_alone_on_request(job):
    _, _, report = job("train", options=("--deep", "always", "--gpu", "events"))
    gpu = report["gpus"]
    assert (gpu["gpu_timed_by"], gpu["gpu_seats"], gpu["gpu_records"]) == (["CUDA events"], [], 0)
    casts = sum(site["casts"] for site in report["sites"] if site["device"] == "cuda")
    assert gpu["casts_by_events"]["cast_launches"] == casts > 0


def test_a_job_whose_casts_events_time_is_the_same(job):
    plain, truth, _ = job("train", under=False, faults="no-seat")
    told, observed, _ = job("train", faults="no-seat")
    assert told == plain
    assert [(row["kind"], row["name"]) for row in observed] == [(row["kind"], row["name"]) for row in truth]


def test_what_is_captured_meets_no_event(job):
    _, _, report = job("graphed", faults="no-seat")
    by_events = report["gpus"]["casts_by_events"]
    # The casts of the capture were launched in it, and never again by themselves.
    casts = sum(site["casts"] for site in report["sites"] if site["device"] == "cuda")
    assert by_events["gpu_casts_untimed"] > 0
    assert by_events["cast_launches"] + by_events["gpu_casts_untimed"] == casts


def test_the_span_of_a_profile_ends_where_events_time_again(job):
    _, _, report = job("profiled_midway", options=("--deep", "always", "--gpu", "events"))
    (span,) = report["gpus"]["gpu_seats"]
    assert span["held_by"] == "torch.profiler" and span["end_ns"] is not None


@pytest.mark.parametrize("by", ["main", "thread"])
def test_replays_are_of_what_was_captured(job, tmp_path, by):
    # The capture is in no deep step of its own: it is looked at because it is one.
    _, truth, report = job("graphed", by, options=())
    assert report["gpus"]["gpu_unplaced"] == 0
    with sqlite3.connect(tmp_path / "run.castscope") as run:
        rows = run.execute("SELECT operator, module, site IS NOT NULL, sum(launches) FROM v_kernels WHERE replayed "
                           "GROUP BY 1, 2, 3").fetchall()
    # Each replay has the products of the two layers, the casts of what they were given, and what lies between.
    one_replay = {("aten::linear", "0", 1): 3, ("aten::linear", "0", 0): 1, ("aten::relu", "1", 0): 1,
                  ("aten::linear", "2", 1): 2, ("aten::linear", "2", 0): 1}
    told = {(operator, module, cast): launches for operator, module, cast, launches in rows}
    assert told.keys() == one_replay.keys()
    times = {told[key] / launches for key, launches in one_replay.items()}
    assert len(times) == 1 and 1 <= times.pop() <= 5
    assert len([row for row in truth if row["graph_node"] != 0]) == 5 * sum(one_replay.values())


@pytest.mark.parametrize(("name", "regions"), [("compiled", 1), ("two_compiled", 2)])
def test_compiled_kernels_are_of_their_region(job, tmp_path, name, regions):
    _, truth, report = job(name)
    gpu = report["gpus"]
    assert (gpu["gpu_lost"], gpu["gpu_unplaced"]) == (0, 0)
    with sqlite3.connect(tmp_path / "run.castscope") as run:
        rows = run.execute("SELECT mangled_name, origin, operator, sum(launches) FROM v_kernels "
                           "GROUP BY 1, 2, 3").fetchall()
    told = truth[len(truth) - gpu["gpu_records"]:]
    # Autograd's engine has a thread for the device, which launches what is backward.
    main = truth[0]["thread"]
    launched = Counter((row["name"], "forward" if row["thread"] == main else "backward") for row in told
                       if row["name"].startswith(("triton_", "nogpu_gemm_")))
    seen, origins = Counter(), set()
    for kernel, origin, operator, launches in rows:
        if not kernel.startswith(("triton_", "nogpu_gemm_")):
            continue
        origins.add(origin)
        seen[kernel, origin.split()[1]] += launches
        # Inductor calls PyTorch's operators where it has no better product.
        assert (operator is None) == kernel.startswith("triton_")
    assert origins == {f"{region}/0 {part}" for region in range(regions) for part in ("forward", "backward")}
    assert seen == launched
    assert all(operator is not None for _, origin, operator, _ in rows if origin is None)
    generated = {row["origin"]: row for row in gpu["operators"] if row["origin"] is not None}
    assert generated.keys() == origins
    for origin, row in generated.items():
        assert (row["operator"], row["phase"]) == (None, origin.split()[1])
        assert row["launches"] == sum(launches for _, of, operator, launches in rows
                                      if (of, operator) == (origin, None))


def test_devices_and_streams_are_told_apart(job, tmp_path):
    _, truth, report = job("devices", devices=2)
    gpu = report["gpus"]
    assert (gpu["gpu_lost"], gpu["gpu_unplaced"]) == (0, 0) and len(gpu["gpu_devices"]) == 2
    told = truth[len(truth) - gpu["gpu_records"]:]
    assert len(told) > 0.9 * len(truth)
    assert sum(len({row["stream"] for row in told if row["device"] == device}) for device in (0, 1)) >= 4
    with sqlite3.connect(tmp_path / "run.castscope") as run:
        rows = run.execute("SELECT gpu_index, mangled_name, sum(launches), sum(gpu_ns) FROM v_kernels "
                           "WHERE gpu_work = 'kernel' GROUP BY 1, 2").fetchall()
    launches, ns = Counter(), Counter()
    for row in told:
        if row["kind"] == "kernel":
            launches[row["device"], row["name"]] += 1
            ns[row["device"], row["name"]] += row["end"] - row["start"]
    assert {(device, name): (count, time) for device, name, count, time in rows} == \
        {key: (launches[key], ns[key]) for key in launches}
    # Single events have the stream, too.
    events = subprocess.run([runs.CASTSCOPE, "convert", tmp_path / "run.castscope"], capture_output=True, text=True)
    kernels = [event for event in map(json.loads, events.stdout.splitlines()) if event["event_kind"] == "kernel"]
    assert Counter((row["gpu_index"], row["stream"]) for row in kernels) == \
        Counter((row["device"], row["stream"]) for row in told)


def test_sampled_steps_are_whole(job):
    _, truth, report = job("train", "bfloat16", "400", options=())
    gpu = report["gpus"]
    assert gpu["gpu_steps"] >= 3 and gpu["gpu_lost"] == 0
    # The first one is timed from its first operator on; each other is what a step of the whole is.
    a_step = len(truth) / 400
    assert (gpu["gpu_steps"] - 1) * a_step <= gpu["gpu_records"] <= (gpu["gpu_steps"] + 0.5) * a_step


def test_products_are_told_by_what_they_compute_in(job):
    _, _, report = job("products")
    computed = {row["product_precision"] for row in report["gpus"]["matmuls"]}
    assert computed == {"bf16, fp32 accumulation", "fp16, fp32 accumulation", "true fp32", "TF32"}
    assert {(row["m"], row["n"], row["k"]) for row in report["gpus"]["matmuls"]} == {(60, 64, 64)}
    # The setting is recorded when a product is made, and again when another product is made under another setting.
    assert report["gpus"]["gpu_math"] == ["allow_tf32=0", "allow_tf32=1"]


def test_settings_of_both_interfaces_are_told(job):
    """PyTorch's own getter throws where a job uses both."""
    _, _, report = job("mixed_settings")
    assert report["gpus"]["gpu_math"] == ["allow_tf32=1"]


def test_kernels_are_not_timed_on_request(job):
    told, _, report = job("train", options=("--gpu", "off"))
    assert report["gpus"] is None and told == {"steps": 6}


def test_doctor_tells_which_cupti_the_job_gets():
    def checks(*before, **environment):
        done = subprocess.run([*before, runs.CASTSCOPE, "doctor", "--json", "--", PYTHON], capture_output=True,
                              text=True,
                              env=runs.clean_environment() | environment)
        return {check["check_name"]: check for check in json.loads(done.stdout)["checks"]}

    wheel, double = checks(), checks(HERE / "double" / "under", DOUBLE)
    ask = "import importlib.metadata as m; print(m.version('nvidia-cuda-cupti'))"
    version = subprocess.run([PYTHON, "-c", ask], check=True, capture_output=True, text=True).stdout.strip()
    assert wheel["cupti"]["check_state"] == "ok" and wheel["cupti"]["found"].startswith(f"{version} (")
    assert str(pathlib.Path(DOUBLE, "libcupti.so.13")) in double["cupti"]["found"]
    assert str(pathlib.Path(DOUBLE, "libcuda.so.1")) in double["driver"]["found"]
    assert double["counters"]["check_state"] == "ok"
