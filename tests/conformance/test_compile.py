"""Casts in graphs of torch.compile, checked against counts that know nothing of castscope; each with operator and line.

With CONFORMANCE=whole in the environment (scripts/conformance) a BERT is compiled, too, and both models in both ways.
Each is compiled three times, which takes two minutes for BERT by Inductor.
"""

import concurrent.futures
import json
import pathlib
import sys

import jsonschema
import length
import pytest
import runs

WAYS = [("resnet", "inductor")]
if length.WHOLE:
    WAYS += [("resnet", "aot_eager"), ("bert", "aot_eager"), ("bert", "inductor")]
LINES = ("plain_models.py", "modeling_bert.py", "activations.py")


@pytest.fixture(scope="module", params=WAYS, ids="-".join)
def ran(request, generated_code, tmp_path_factory):
    """The job under castscope; alone, with its conversions counted; that count."""
    folder = tmp_path_factory.mktemp("-".join(request.param))
    environment = pytest.MonkeyPatch()
    request.addfinalizer(environment.undo)
    environment.setenv("TORCHINDUCTOR_CACHE_DIR", str(generated_code))
    job = [sys.executable, str(runs.WORKLOADS / "compile_modes.py"), *request.param]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        watched = pool.submit(runs.under_castscope, job, folder / "castscope")
        alone = pool.submit(runs.plain, job, folder / "alone")
        counted = pool.submit(runs.plain, [*job, str(folder / "tally")], folder / "counted")
        watched, alone, counted = watched.result(), alone.result(), counted.result()
    for outcome in (watched, alone, counted):
        assert outcome.status == 0, outcome.stderr.decode()
    return watched, alone, json.loads((folder / "tally").read_text())


def in_graphs(report):
    return [site for site in report["sites"] if site.get("compiled")]


def test_every_conversion_of_the_graphs_is_counted(ran):
    watched, _, count = ran
    assert sum(site["casts"] for site in in_graphs(watched.report)) == count["all"] > 0


def test_autocasts_are_told_from_those_of_decompositions(ran):
    watched, _, count = ran
    autocast = [site for site in in_graphs(watched.report)
                if site["cause"] in ("compiled", "user_to") and site["phase"] == "forward"]
    assert sum(site["casts"] for site in autocast) == count["autocast"] > 0


def test_each_of_autocasts_has_its_operator_and_line(ran):
    for site in in_graphs(ran[0].report):
        if site["cause"] == "compiled":
            assert site["operator"].startswith("aten::") and site["argument"], site
            assert pathlib.Path(site["location"]["file"]).name in LINES, site


def test_the_job_computes_what_it_does_alone(ran):
    watched, alone, _ = ran
    assert watched.stdout == alone.stdout
    jsonschema.validate(watched.report, json.loads(runs.SCHEMA.read_text()))
