"""Arguments that are protected from casts, in the reports of a run: what arrived, and what was held off."""

import json
import sys

import pytest

MODEL = """
import castscope, torch

class Pooling(torch.nn.Module):
    def forward(self, x, rois):
        return torch.mm(x, rois)

@castscope.never_cast("rois")
class Pool(Pooling):
    pass

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.pool, self.head = torch.nn.Linear(4, 4), Pool(), torch.nn.Linear(4, 4)
        castscope.force_fp32(self.head)
    def forward(self, x, rois):
        return self.head(self.pool(self.body(x), rois))

model, rois = Model(), torch.ones(4, 4)
for _ in range(3):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        model(torch.ones(2, 4), rois)
model(torch.ones(2, 4), rois)  # without autocast nothing has to be protected
"""


def protected(castscope):
    return {(one["annotated_function"].split(".")[-2], one["argument"]): one
            for one in castscope.report()["protected_arguments"]}


@pytest.fixture
def observed(castscope, python):
    (castscope.folder / "job.py").write_text(MODEL)
    done = castscope("run", "--summary=full", "-o", "run", "--", python, "job.py", text=True)
    assert done.returncode == 0, done.stderr
    return castscope, done.stderr


def test_a_run_confirms_that_rois_are_never_cast(observed):
    castscope, summary = observed
    seen = protected(castscope)
    assert set(seen) == {("Pool", "x"), ("Pool", "rois"), ("Linear", "input")}
    rois = seen["Pool", "rois"]
    assert (rois["given_dtype"], rois["times"], rois["is_protected"]) == ("float32", 3, True)
    assert (rois["casts_held_off"], rois["to_dtype"], rois["annotation"]) == (0, None, "float")
    assert rois["called_at"]["function"].endswith("forward") and rois["called_at"]["file"].endswith("job.py")
    x = seen["Pool", "x"]
    assert (x["given_dtype"], x["times"], x["is_protected"], x["to_dtype"]) == ("bfloat16", 3, False, "float32")
    assert seen["Linear", "input"]["given_dtype"] == "float32"
    assert "rois of Pool.forward arrived in float32 3 times: never cast" in " ".join(summary.split())
    assert "held off" not in summary


def test_every_form_of_the_report_tells_it(observed):
    castscope, _ = observed
    for form in ("html", "md"):
        told = castscope("report", "-f", form, "run.castscope", text=True).stdout
        assert "rois" in told and "never cast" in told
    told = castscope("report", "--summary=full", "run.castscope", text=True).stderr
    assert "rois of Pool.forward arrived in float32 3 times: never cast" in " ".join(told.split())


def test_nothing_is_told_where_nothing_is_protected(castscope, python):
    (castscope.folder / "job.py").write_text(
        "import torch\nwith torch.autocast('cpu'):\n    torch.nn.Linear(2, 2)(torch.ones(1, 2))")
    assert castscope("run", "-o", "run", "--", python, "job.py").returncode == 0
    assert castscope.report()["protected_arguments"] == []


@pytest.mark.parametrize("options", [(), ("--all-kernels",)])
def test_an_argument_that_a_policy_never_casts(castscope, options):
    (castscope.folder / "job.py").write_text("""
import torch
torch.library.define("vision::roi_pool", "(Tensor input, Tensor rois, float scale) -> Tensor")
torch.library.impl("vision::roi_pool", "CompositeExplicitAutograd")(lambda input, rois, scale: input * scale)
with torch.autocast("cpu", dtype=torch.bfloat16):
    for _ in range(4):
        torch.ops.vision.roi_pool(torch.ones(2, 4), torch.ones(2, 5), 1.0)
    torch.ops.vision.roi_pool(torch.ones(2, 4), torch.ones(2, 5).bfloat16(), 1.0)
torch.ops.vision.roi_pool(torch.ones(2, 4), torch.ones(2, 5), 1.0)
""")
    (castscope.folder / "rois.json").write_text(json.dumps({
        "extends": "torch-cpu", "operators": {"lower_precision_fp": ["vision::roi_pool"]},
        "never_cast": {"vision::roi_pool": ["rois"]}}))
    done = castscope("run", "-o", "run", "--enforce", "rois.json", *options, "--", sys.executable, "job.py", text=True)
    assert done.returncode == 0, done.stderr
    seen = [(one["annotated_function"], one["argument"], one["annotation"], one["given_dtype"], one["times"],
             one["casts_held_off"], one["is_protected"])
            for one in castscope.report()["protected_arguments"]]
    assert sorted(seen) == [("vision::roi_pool", "rois", "policy", "bfloat16", 1, 0, True),
                            ("vision::roi_pool", "rois", "policy", "float32", 4, 4, True)]
