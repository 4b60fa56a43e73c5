"""Copies that enforcing keeps: other code's use of them, and their place in autograd's graph."""

import pytest

WITH_MINE = {"extends": "torch-cpu", "operators": {"lower_precision_fp": ["mine::same"]}}
LIMIT = 4 * 64 * 64 * 2


@pytest.mark.parametrize("options", [(), ("--all-kernels",)])
@pytest.mark.parametrize("first", ["outside", "inside"])
@pytest.mark.job("""
import hashlib
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
""", policy="torch-cpu")
def test_a_weight_has_one_place_in_the_graph_within_and_without_a_mode(ran, first, options):
    assert ran.lines == ran.alone


@pytest.mark.job("""
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
""", policy="torch-cpu")
def test_a_copy_whose_memory_was_taken_away_is_made_anew(ran):
    assert ran.lines == ran.alone


@pytest.mark.job("""
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
""", policy=WITH_MINE)
def test_what_is_done_to_a_copy_that_was_handed_out_does_not_stay(ran):
    assert ran.lines == ["torch.bfloat16 False 1.0"] * 3


@pytest.mark.parametrize("change", ["copy.data = torch.zeros(2, dtype=torch.bfloat16)",
                                    "copy.data = torch.zeros(64, 64)",
                                    "copy.resize_(2, 2)", "copy.t_()", "copy.set_(torch.zeros(64, 64).bfloat16())"])
@pytest.mark.job("""
library = torch.library.Library("mine", "DEF")
library.define("same(Tensor x) -> Tensor")
library.impl("same", lambda x: x, "CompositeImplicitAutograd")
w = torch.nn.Parameter(torch.arange(4096.).reshape(64, 64), requires_grad=False)
for i in range(3):
    with torch.autocast("cpu", torch.bfloat16):
        copy = torch.ops.mine.same(w)
        print(torch.equal(copy, w.bfloat16()))
        {change}
""", policy=WITH_MINE)
def test_a_copy_that_was_made_to_be_another_tensor_is_made_anew(ran, change):
    assert ran.lines == ["True"] * 3


@pytest.mark.job("""
torch.set_num_threads(1)
layers = [torch.nn.Linear(64, 64, bias=False).requires_grad_(False) for _ in range(6)]
x = torch.randn(2, 64)
for i in range(8):
    for layer in layers:
        with torch.autocast("cpu", torch.bfloat16):
            for _ in range(2):
                torch.mm(x, layer.weight)
                layer.weight.add_(1)
""", policy={"extends": "torch-cpu", "cache": {"max_bytes": LIMIT}})
def test_the_cache_stays_within_its_limit_while_weights_are_written(ran):
    assert 0 < ran.report["cache"]["cache_peak_bytes"] <= LIMIT


@pytest.mark.job("""
import sys, torch
torch.set_num_threads(1)
x = torch.randn(2, 2)
def blocks(modules):
    for _ in range(modules):
        with torch.autocast("cpu", torch.bfloat16):
            torch.nn.Linear(2, 2)(x)
    return sys.getallocatedblocks()
before = blocks(3000)
print(blocks(9000) - before < 3000)
""", policy={"extends": "torch-cpu", "modules": {"torch.nn.Linear": "fp32"}})
def test_rules_for_modules_do_not_grow_with_modules_that_are_gone(ran):
    assert ran.lines == ["True"]


@pytest.mark.parametrize("options", [(), ("--all-kernels",)])
@pytest.mark.job("""
import hashlib
from torch.utils.checkpoint import checkpoint
torch.manual_seed(0)
layers = [torch.nn.Linear(96, 96) for _ in range(3)]
x = torch.randn(32, 96)  # needs no gradient: the first layer's copy is saved for no backward pass
optimizer = torch.optim.SGD([p for layer in layers for p in layer.parameters()], lr=0.01)
for step in range(12):
    with torch.autocast("cpu", torch.bfloat16):
        y = layers[0](x)
        y = checkpoint(layers[1], y, use_reentrant=False)
        y = layers[2](y)
        if step % 4 == 3:
            y = y + layers[0](y) + layers[0](x) + layers[1](y) + layers[2](x)
    y.float().pow(2).mean().backward()
    optimizer.step()
    print(*(hashlib.sha1(p.detach().numpy().tobytes()).hexdigest()[:12] for p in optimizer.param_groups[0]["params"]))
    optimizer.zero_grad()
""", policy="torch-cpu")
def test_a_weight_used_once_a_region_and_then_again_has_one_place_in_the_graph(ran, options):
    assert ran.lines == ran.alone


@pytest.mark.job("""
layer, x = torch.nn.Linear(64, 64, bias=False), torch.randn(2, 64)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
for uses in (1, 1, 1, 50, 50):
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        for _ in range(uses):
            y = layer(x)
    optimizer.step()  # from here on the weight counts as written
    layer.weight.data.add_(1)
""", policy="torch-cpu")
def test_a_weight_that_is_used_again_and_again_in_one_region_is_cast_twice_at_most(ran):
    of_inputs = 3 * 1 + 2 * 50
    assert ran.report["totals"]["casts"] - of_inputs == 3 * 1 + 2 + 1


@pytest.mark.parametrize("options", [(), ("--all-kernels",)])
@pytest.mark.job("""
import hashlib
torch.manual_seed(0)
g, d = torch.nn.Linear(96, 96), torch.nn.Linear(96, 96)
of_g, of_d = torch.optim.SGD(g.parameters(), lr=0.01), torch.optim.SGD(d.parameters(), lr=0.01, fused=True)
x = torch.randn(32, 96)
for step in range(6):
    with torch.autocast("cpu", torch.bfloat16):
        fake = g(x)
        d(fake.detach()).float().pow(2).mean().backward()
        of_d.step(), of_d.zero_grad()
        loss = (g(x * 2) + fake).float().pow(2).mean()
    loss.backward()
    print(*(hashlib.sha1(p.grad.numpy().tobytes()).hexdigest()[:12] for p in g.parameters()))
    of_g.step(), of_g.zero_grad()
""", policy="torch-cpu")
def test_another_networks_optimizer_step_within_a_region_leaves_a_weight_its_place(ran, options):
    assert ran.lines == ran.alone


@pytest.mark.job("""
layers = [torch.nn.Linear(64, 64, bias=False) for _ in range(8)]
for step in range(3):
    y = torch.randn(2, 64)
    with torch.autocast("cpu", torch.bfloat16):
        for layer in layers:
            y = layer(layer(y)) @ layer.weight.t()
    y.float().sum().backward()
    with torch.no_grad():
        for layer in layers:
            layer.weight.add_(1)
""", policy="torch-cpu")
def test_the_cache_is_not_said_to_be_smaller_than_the_region_holds(ran):
    assert ran.report["cache"]["cache_peak_entries"] >= 8
