"""The JSON that commands print is what their schemas describe, each key of it (`castscope schema NAME`)."""

import functools
import json
import subprocess
import sys

import jsonschema
import pytest
from closed_schema import closed
from gated import TRAIN, have, record
from program import ROOT, clean_environment
from test_compare import ENTRY
from test_diff import MODEL

CLEAN = TRAIN.replace(".requires_grad_(False)", "")


# Documents that got a name since the first of their format.
MINORS = {"diff": 1, "rules": 1}


@functools.cache
def checker(name):
    schema = json.loads((ROOT / f"docs/{name}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(closed(schema))


def described(document):
    """Returns the document, which the schema of its name describes."""
    document = json.loads(document)
    assert (document["format"], document["format_minor"]) == (2, MINORS.get(document["document"], 0))
    checker(document["document"]).validate(document)
    return document


@pytest.fixture
def told(castscope):
    """Runs a command; returns its JSON, which its schema describes."""
    def run(document, *command, status=0, **options):
        done = castscope(*command, **options)
        assert done.returncode == status, done.stderr
        found = described(done.stdout)
        assert found["document"] == document
        return found

    return run


def test_a_key_that_no_schema_describes_is_noticed():
    known = {"document": "counts", "format": 2, "format_minor": 0, "casts": 1, "cache_hits": 0, "pass_throughs": 0,
             "traced": 0, "bytes": 4}
    described(json.dumps(known))
    with pytest.raises(jsonschema.ValidationError):
        described(json.dumps(known | {"hits": 1}))


def test_check_that_is_clean_that_fails_and_that_has_limits(castscope, python, told):
    have(castscope, python)
    clean = told("check", "check", "-f", "json", "run.castscope")
    assert clean["outcome"] == "clean" and clean["below_fail_on"]
    failed = told("check", "check", "-f", "json", "--fail-on", "info", "--max-cache", "1KiB", "--max-cast-share", "99%",
                  "run.json", status=1)
    assert failed["failing_findings"] and len(failed["limits"]) == 2


def test_check_against_a_baseline_that_looked_at_less(castscope, python, told):
    have(castscope, python, name="before")
    same = told("check", "check", "-f", "json", "--baseline", "before.castscope", "--fail-on", "info", "before.json")
    assert same["known_findings"]
    record(castscope, python, CLEAN, "after", "--deep", "never")
    fixed = told("check", "check", "-f", "json", "--baseline", "before.json", "after.castscope")
    assert fixed["fixed_findings"] and fixed["unjudged"]


def test_check_and_diff_of_what_was_not_observed_or_is_cut_short(castscope, python, told):
    have(castscope, python)
    whole = (castscope.folder / "run.castscope").read_bytes()
    (castscope.folder / "cut.castscope").write_bytes(whole[: len(whole) * 19 // 20])
    assert castscope("run", "-o", "nothing", "--", "true").returncode == 0
    for name in "cut", "nothing":
        assert told("check", "check", "-f", "json", f"{name}.castscope", status=3)["outcome"] == "incomplete"
    assert told("diff", "diff", "-f", "json", "run.castscope", "nothing.castscope")["doubts"]
    assert told("diff", "diff", "-f", "json", "run.castscope", "cut.castscope", status=3)["before"]["complete"]


def test_check_of_a_program_of_torch_export(castscope, python, told):
    (castscope.folder / "net.py").write_text("""\
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)
    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            x = self.layer(x)
            with torch.autocast("cpu", enabled=False):
                return torch.softmax(x.float(), -1)
x = torch.randn(2, 4)
inside = torch.export.export(Net(), (x,))
torch.export.save(inside, "inside.pt2")
torch.export.save(inside.run_decompositions(), "apart.pt2")
with torch.autocast("cpu", dtype=torch.bfloat16):
    torch.export.save(torch.export.export(torch.nn.Linear(4, 4), (x,)), "dropped.pt2")
""")
    subprocess.run([python, "net.py"], cwd=castscope.folder, check=True, capture_output=True, timeout=300)
    (inside,) = told("check", "check", "-f", "json", "inside.pt2")["programs"]
    assert [(region["region"], region["parent"]) for region in inside["regions"]] == [(1, None), (2, 1)]
    assert told("check", "check", "-f", "json", "apart.pt2")["programs"][0]["decomposed"]
    assert told("check", "check", "-f", "json", "dropped.pt2", status=1)["failing_findings"]


def test_diff_of_sites_findings_and_totals(castscope, python, told):
    have(castscope, python, name="a")
    record(castscope, python, CLEAN.replace("bfloat16", "float16"), "b")
    changed = told("diff", "diff", "-f", "json", "a.castscope", "b.json")
    assert changed["differs"] and changed["site_changes"] and changed["finding_changes"]["fixed_findings"]
    assert not told("diff", "diff", "-f", "json", "a.castscope", "a.json")["differs"]


def test_diff_of_operators_in_another_dtype(castscope, python, told):
    (castscope.folder / "net.py").write_text(MODEL)
    for name, words in (("train", ["train"]), ("engine", [])):
        assert castscope("run", "--deep", "always", "-o", name, "--", python, "net.py", *words).returncode == 0
    assert told("diff", "diff", "-f", "json", "train.castscope", "engine.castscope")["precision_changes"]


def test_rules(told):
    rules = told("rules", "rules", "-f", "json")["rules"]
    assert told("rules", "rules", "-f", "json", "cache-grows")["rules"] == [
        rule for rule in rules if rule["rule"] == "cache-grows"]


MINE = """{
  "extends": "torch-cuda", "default_dtype": "bfloat16",
  "operators": {"fp32": ["mm"], "banned": {"bmm": "use mm"}},
  "never_cast": {"linear": ["bias"]},
  "modules": {"head.*": "fp32"},
  "functions": {"mine.models:norm": "float"}
}"""


def test_policies(castscope, told):
    (castscope.folder / "mine.json").write_text(MINE)
    (castscope.folder / "wrong.json").write_text("{")
    shipped = [one["policy"] for one in told("policy-list", "policy", "list", "-f", "json")["policies"]]
    checked = told("policy-check", "policy", "check", "-f", "json", *shipped)["policies"]
    assert [one["policy"] for one in checked] == shipped
    (mine,) = told("policy-check", "policy", "check", "-f", "json", "mine.json", "wrong.json", status=2)["policies"]
    assert mine["module_rules"] and mine["function_rules"] and mine["never_cast_by_operator"]
    for pair in ("torch-cpu", "torch-cuda"), ("torch-cuda", "mine.json"):
        assert told("policy-diff", "policy", "diff", "-f", "json", *pair)["differs"]
    assert not told("policy-diff", "policy", "diff", "-f", "json", "mine.json", "mine.json")["differs"]


@pytest.mark.parametrize("asked", [["linear", "--module", "head.fc"], ["bmm"], ["softmax"], ["torch.norm"],
                                   ["torchvision::roi_pool"], ["nn.LSTM", "--class", "torch.nn.LSTM"]])
def test_explanations_of_policies(castscope, told, asked):
    (castscope.folder / "mine.json").write_text(MINE)
    for policy in "mine.json", "torch-cpu", "fp32-everything":
        assert told("policy-explain", "policy", "explain", "-f", "json", policy, *asked)["explanations"]
    everywhere = told("policy-explain", "policy", "explain", "-f", "json", *asked)["explanations"]
    assert {one["policy"] for one in everywhere} == {"torch-cpu", "torch-cuda", "torch-xpu", "torch-mps"}


def test_compare_with_modes_that_differ_and_that_fail(castscope, python, told):
    (castscope.folder / "entry.py").write_text(ENTRY + """
@castscope.entry(inputs=lambda: (torch.ones(2),))
def refused(x, *more):
    return x * 2
""")
    step, refused = told("compare", "compare", "--modes", "script,export", "-f", "json", "--", python, "entry.py",
                         status=1)["comparisons"]
    assert any(mode.get("differences") for mode in step["modes"]) and any(mode["error"] for mode in refused["modes"])


def test_doctor_where_all_is_well_and_where_something_is_missing(castscope, python, told):
    assert {check["fix"] for check in told("doctor", "doctor", "--json", "--", python)["checks"]
            if check["check_state"] == "ok"} == {None}
    checks = told("doctor", "doctor", "--json", "--", "no-such-python", status=1)["checks"]
    assert any(check["check_state"] == "problem" and check["fix"] for check in checks)


def test_counts(castscope):
    (castscope.folder / "job.py").write_text("""\
import os, subprocess, torch
with torch.autocast("cpu", dtype=torch.bfloat16):
    torch.mm(torch.ones(2, 2), torch.ones(2, 2))
with open("counts.json", "w") as out:
    subprocess.run([os.environ["CASTSCOPE_BIN"], "counts", os.environ["CASTSCOPE_RUN"], str(os.getpid())], stdout=out,
                   check=True)
""")
    environment = clean_environment(CASTSCOPE_BIN=castscope.program)
    assert castscope.run(sys.executable, "job.py", env=environment).returncode == 0
    assert described((castscope.folder / "counts.json").read_bytes())["casts"] == 2
