"""TorchScript's casts, held against a count of torch.profiler's, and each with its operator and line.

With CONFORMANCE=whole in the environment (scripts/conformance) each model is made in all ways.
"""

import concurrent.futures
import json
import pathlib
import sys

import jsonschema
import length
import pytest
import runs

WAYS = [("resnet", "script"), ("resnet", "loaded-trace"), ("bert", "trace")]
if length.WHOLE:
    WAYS += [("resnet", "trace"), ("resnet", "loaded"), ("resnet", "frozen"), ("bert", "loaded-trace")]


@pytest.fixture(scope="module", params=WAYS, ids="-".join)
def ran(request, tmp_path_factory):
    """The job under castscope; alone, counted by torch.profiler; that count."""
    folder = tmp_path_factory.mktemp("-".join(request.param))
    job = [sys.executable, str(runs.WORKLOADS / "script_modes.py"), *request.param]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        traced = pool.submit(runs.under_castscope, job, folder / "castscope").result()
        alone = pool.submit(runs.plain, [*job, str(folder / "tally")], folder / "alone").result()
    assert alone.status == 0, alone.stderr.decode()
    assert traced.status == 0 and traced.report is not None, traced.stderr.decode()
    return traced, alone, json.loads((folder / "tally").read_text())


def script_sites(report):
    return [site for site in report["sites"] if site["cause"] == "script"]


def test_the_count_is_the_profilers(ran):
    traced, _, conversions = ran
    assert sum(site["casts"] for site in script_sites(traced.report)) == conversions > 0


def test_each_cast_has_its_operator_and_line(ran):
    for site in script_sites(ran[0].report):
        assert not site["operator"].startswith("aten::_autocast_to"), site
        assert site["argument"], site
        place = pathlib.Path(site["location"]["file"])
        assert place.name in ("plain_models.py", "modeling_bert.py", "activations.py"), site
        if place.name == "plain_models.py":
            # A constant that is folded is worked out before its graph is a function with a name.
            assert site["location"]["function"] in ("forward", ""), site


def test_the_job_computes_what_it_does_alone(ran):
    traced, alone, _ = ran
    assert traced.stdout == alone.stdout
    jsonschema.validate(traced.report, json.loads(runs.SCHEMA.read_text()))


ODD = '''
import torch

@torch.jit.ignore
def in_python(a):
    return torch.mm(a, a)

@torch.jit.script
def task(a):
    return torch.mm(a, a)

@torch.jit.script
def main(a):
    waiting = torch.jit.fork(task, a)
    b = in_python(a)
    return torch.jit.wait(waiting) + b

square = torch.randn(8, 8)
for _ in range(3):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        main(square)
'''


def test_tasks_of_fork_and_python_within_a_script_have_their_lines(tmp_path):
    job = tmp_path / "odd.py"
    job.write_text(ODD)
    outcome = runs.under_castscope([sys.executable, str(job)], tmp_path / "castscope")
    lines = {}
    for site in outcome.report["sites"]:
        if site["cause"] in ("script", "autocast"):
            key = site["cause"], site["operator"], site["location"]["line"]
            lines[key] = lines.get(key, 0) + site["casts"]
    assert lines == {("script", "aten::mm", 10): 3, ("autocast", "aten::mm", 6): 6,
                     ("script", "aten::add.Tensor", 16): 6}
    called = next(site for site in outcome.report["sites"] if site["cause"] == "autocast")
    assert [frame.split(" ")[0].split("/")[-1] for frame in called["stack"]] == ["odd.py:6", "odd.py:15", "odd.py:21"]


WITHOUT_THE_OPTIMIZER = """\
import torch
net = torch.jit.script(torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.Flatten(), torch.nn.Linear(144, 2)))
with torch.jit.optimized_execution(False):
    for _ in range(3):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            net(torch.randn(2, 3, 8, 8))
"""


def test_arguments_are_told_apart_where_the_interpreter_calls_operators_with_its_stack(tmp_path):
    (tmp_path / "job.py").write_text(WITHOUT_THE_OPTIMIZER)
    traced = runs.under_castscope([sys.executable, str(tmp_path / "job.py")], tmp_path / "castscope")
    assert traced.status == 0, traced.stderr.decode()
    casts = [site for site in traced.report["sites"] if site["cause"] == "autocast" and site["casts"]]
    assert {site["argument"] for site in casts} == {"input", "weight", "bias"}
