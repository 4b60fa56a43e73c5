"""The copies that enforcing keeps: what becomes of them in others' hands, and their place in autograd's graph."""

import subprocess
import sys

import pytest
from program import clean_environment


def printed_by_stock(castscope):
    return subprocess.run([sys.executable, "job.py"], cwd=castscope.folder, env=clean_environment(), check=True,
                          capture_output=True, text=True).stdout.splitlines()


@pytest.mark.parametrize("options", [(), ("--all-kernels",)])
@pytest.mark.parametrize("first", ["outside", "inside"])
def test_a_weight_has_one_place_in_the_graph_within_and_without_a_mode(castscope, enforce, first, options):
    (castscope.folder / "job.py").write_text(f"""
import hashlib
import torch
from torch.utils.flop_counter import FlopCounterMode
torch.manual_seed(0)
layer, x = torch.nn.Linear(64, 64), torch.randn(32, 64)
with torch.autocast("cpu", torch.bfloat16):
    y = layer(x) if "{first}" == "outside" else x
    with FlopCounterMode(display=False):
        y = y + layer(y)
    y = y + layer(y)
y.float().pow(2).sum().backward()
print(*(hashlib.sha1(p.grad.numpy().tobytes()).hexdigest() for p in layer.parameters()))
""")
    assert enforce("torch-cpu", "job.py", options=options) == printed_by_stock(castscope)


def test_a_copy_whose_memory_was_taken_away_is_made_anew(castscope, enforce):
    (castscope.folder / "job.py").write_text("""
import torch
import torch.nn.functional as F
torch.manual_seed(0)
w, x = torch.nn.Parameter(torch.randn(64, 64), requires_grad=False), torch.randn(8, 64, requires_grad=True)
for i in range(4):
    saved = []
    with torch.autocast("cpu", torch.bfloat16), torch.autograd.graph.saved_tensors_hooks(
            lambda t: saved.append(t) or t, lambda t: t):
        y = F.linear(x, w)
    y.float().sum().backward()
    print(float(y.detach().float().sum()), float(x.grad.sum()))
    for t in saved:
        if t.shape == w.shape:
            t.untyped_storage().resize_(0)
    del saved, y
""")
    assert enforce("torch-cpu", "job.py") == printed_by_stock(castscope)


def test_what_is_done_to_a_copy_that_was_handed_out_does_not_stay(castscope, enforce):
    (castscope.folder / "job.py").write_text("""
import torch
library = torch.library.Library("mine", "DEF")
library.define("same(Tensor x) -> Tensor")
library.impl("same", lambda x: x, "CompositeImplicitAutograd")
w = torch.nn.Parameter(torch.ones(64, 64), requires_grad=False)
for i in range(3):
    with torch.autocast("cpu", torch.bfloat16):
        copy = torch.ops.mine.same(w)
        print(copy.dtype, copy.requires_grad, float(copy[0, 0]))
        copy.requires_grad_()
    with torch.no_grad():
        copy.mul_(2)
""")
    policy = {"extends": "torch-cpu", "operators": {"lower_precision_fp": ["mine::same"]}}
    assert enforce(policy, "job.py") == ["torch.bfloat16 False 1.0"] * 3
