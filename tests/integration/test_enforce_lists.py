"""The promises of the systems that the shipped lists come from, each checked by a test that is named after it."""

import functools
import sys

import pytest
import sharing
from program import ROOT, Castscope

JOB = ROOT / "tests" / "workloads" / "other_device.py"


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """Returns the dtype that each operator gave on that device, under a policy, in a region with a lower precision."""
    castscope = Castscope(tmp_path_factory.mktemp("seen"))

    @functools.cache
    def run(policy, device, *options):
        jobs = sharing.command([f"{JOB} {device} {lower}" for lower in ("bfloat16", "float16")], *sharing.SEPARATED)
        done = castscope("run", "--force", "-o", "run", "--enforce", policy, *options, "--", *jobs, text=True)
        assert done.returncode == 0, done.stderr
        of_bfloat16, of_float16, _ = done.stdout.split(sharing.BETWEEN + "\n")
        return {"bfloat16": told(of_bfloat16), "float16": told(of_float16)}

    def told(text):
        lines = [line.partition(" raises ") for line in text.splitlines()]
        return {name: f"raises {text}" for name, _, text in lines if text} | dict(
            name.rsplit(" ", 1) for name, _, text in lines if not text)

    return lambda policy, device, lower, *options: run(policy, device, *options)[lower]


LOWER = ("linear", "conv2d", "matmul", "bmm", "addmm")


@pytest.mark.parametrize("lower", ["bfloat16", "float16"])
@pytest.mark.parametrize("options", [(), ("--all-kernels",)])
class TestIntelXpu:
    """ipex-xpu-amp.md"""

    def test_ops_that_can_autocast_to_bfloat16_and_float16(self, seen, lower, options):
        got = seen("ipex-xpu", "xpu", lower, *options)
        assert {got[name] for name in LOWER} == {lower}

    def test_ops_that_can_autocast_to_float32(self, seen, lower, options):
        got = seen("ipex-xpu", "xpu", lower, *options)
        assert {got[name] for name in ("log_softmax", "nll_loss", "cross_entropy", "fft_rfft")} == {"float32"}

    def test_ops_that_promote_to_the_widest_input_type(self, seen, lower, options):
        got = seen("ipex-xpu", "xpu", lower, *options)
        assert (got["cat"], got["stack of low"]) == ("float32", lower)

    def test_float64_and_what_is_not_floating_point_is_not_eligible(self, seen, lower, options):
        got = seen("ipex-xpu", "xpu", lower, *options)
        assert (got["float64"], got["integers"]) == ("float64", "int32")

    def test_in_place_variants_and_out_are_allowed_and_not_autocast(self, seen, lower, options):
        got = seen("ipex-xpu", "xpu", lower, *options)
        assert (got["addmm_"], got["out="]) == ("float32", "float32")

    def test_unlisted_ops_run_in_the_type_of_their_inputs(self, seen, lower, options):
        got = seen("ipex-xpu", "xpu", lower, *options)
        assert {got[name] for name in ("softmax", "exp", "layer_norm", "relu of low")} == {lower}
        assert got["add"] == "float32"  # it promotes by itself
        assert got["outside"] == "float32"


class TestApexAmp:
    """apex-amp.md"""

    @pytest.mark.parametrize("region", ["float16", "bfloat16"])
    def test_whitelisted_functions_cast_to_fp16_whatever_the_region_says(self, seen, region):
        got = seen("apex-o1", "cuda", region)
        assert {got[name] for name in LOWER} == {"float16"}

    def test_blacklisted_functions_cast_to_fp32(self, seen):
        got = seen("apex-o1", "cuda", "float16")
        assert {got[name] for name in ("log_softmax", "softmax", "cross_entropy", "exp", "layer_norm")} == {"float32"}

    def test_multi_argument_functions_promote_to_the_widest_type(self, seen):
        got = seen("apex-o1", "cuda", "float16")
        assert (got["cat"], got["stack of low"], got["add"]) == ("float32", "float16", "float32")

    def test_any_other_function_passes_its_input_types_along(self, seen):
        assert seen("apex-o1", "cuda", "float16")["relu of low"] == "float16"

    def test_banned_functions_say_what_to_use_instead(self, seen):
        got = seen("apex-o1", "cuda", "float16")["binary_cross_entropy"]
        assert got.startswith("raises ") and "BCEWithLogitsLoss" in got


@pytest.mark.parametrize("policy", [None, "torch-cpu"])
@pytest.mark.job("""
layer, x = torch.nn.Linear(4, 4), torch.randn(2, 4)
with torch.autocast("cpu", dtype=torch.bfloat16):
    layer(x)
""")
def test_forum_at_what_point_are_tensors_cast(ran, policy):
    """At which operator, argument and line each cast was made is in the report, enforced or not."""
    sites = [(site["operator"], site["argument"], site["role"], site["location"]["line"])
             for site in ran.report["sites"]]
    assert sorted(sites) == [("aten::linear", "bias", "weight", 5), ("aten::linear", "input", "input", 5),
                             ("aten::linear", "weight", "weight", 5)]


def test_forum_an_argument_that_is_never_cast(castscope):
    """The rois of a RoI pooling: by a policy, without a line of the model's."""
    (castscope.folder / "job.py").write_text("""
import torch
torch.library.define("vision::roi_pool", "(Tensor input, Tensor rois, float scale) -> Tensor")
seen = []
@torch.library.impl("vision::roi_pool", "CompositeExplicitAutograd")
def roi_pool(input, rois, scale):
    seen.append((input.dtype, rois.dtype))
    return input * scale
class RoIPool(torch.nn.Module):
    def forward(self, x, rois):
        return torch.ops.vision.roi_pool(x, rois, 1.0)
with torch.autocast("cpu", dtype=torch.bfloat16):
    RoIPool()(torch.randn(2, 4), torch.randn(2, 5))
    RoIPool()(torch.randn(2, 4).bfloat16(), torch.randn(2, 5))
print(seen == [(torch.bfloat16, torch.float32)] * 2)
""")
    (castscope.folder / "rois.json").write_text(
        '{"extends": "torch-cpu", "operators": {"lower_precision_fp": ["vision::roi_pool"]},'
        ' "never_cast": {"vision::roi_pool": ["rois"]}}')
    done = castscope("run", "-o", "run", "--enforce", "rois.json", "--", sys.executable, "job.py", text=True)
    assert done.stdout == "True\n", done.stderr


@pytest.mark.parametrize("options", [(), ("--all-kernels",)])
def test_what_is_said_of_a_function_stands_above_the_lists(castscope, options):
    """The policy asks for that: it is not a deviation."""
    (castscope.folder / "job.py").write_text("""
import torch
import torch.nn.functional as F
x, low = torch.rand(4, 4), torch.rand(4, 4, dtype=torch.bfloat16)
with torch.autocast("cpu", dtype=torch.bfloat16):
    print(F.mse_loss(x, x).dtype, torch.mm(x, low).dtype, F.normalize(low).dtype, x.mm(x).dtype,
          torch.cumprod(x, 0).dtype)
""")
    (castscope.folder / "mine.json").write_text("""{
        "extends": "torch-cpu", "operators": {"fp32": ["mse_loss"], "lower_precision_fp": ["mm"]},
        "functions": {"torch.nn.functional:mse_loss": "half", "torch:mm": "promote",
                      "torch.nn.functional:normalize": "float"}}""")
    done = castscope("run", "-o", "run", "--deep", "always", "--enforce", "mine.json", *options, "--", sys.executable,
                     "job.py", text=True)
    assert done.stdout.split() == ["torch.bfloat16", "torch.float32", "torch.float32", "torch.bfloat16",
                                   "torch.float32"], done.stderr
    report = castscope.report()
    assert "policy-deviation" not in {finding["rule"] for finding in report["findings"]}
    assert not [notice for notice in report["run"]["notices"] if "had no effect" in notice]


@pytest.mark.parametrize(("policy", "different"), [(None, "1"), ("torch-cpu", "5")])
@pytest.mark.job("""
torch.manual_seed(0)
model, x = torch.nn.Linear(8, 8), torch.randn(16, 8)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.05, fused=True)
losses = []
with torch.autocast("cpu", dtype=torch.bfloat16):
    for _ in range(5):
        loss = torch.nn.functional.mse_loss(model(x).float(), x)
        losses.append(loss.item())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
print(len(set(losses)))
""")
def test_forum_the_whole_loop_in_one_region_trains(ran, policy, different):
    """A region around optimizer steps: PyTorch goes on with the copies of the first step."""
    assert ran.lines == [different]
