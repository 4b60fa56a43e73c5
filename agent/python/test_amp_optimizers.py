"""castscope.amp with several optimizers, or several backward passes before a step."""

import pytest
import torch
from casting_verbs import HALF, amp_started
from torch import nn

start = pytest.fixture(amp_started)


def weight(*values):
    return nn.Parameter(torch.tensor([float(value) for value in values]))


def sgd(*parameters, lr=1.0):
    return torch.optim.SGD(parameters, lr=lr)


def backward(scaled, retain_graph=False):
    with scaled as scaled_loss:
        scaled_loss.backward(retain_graph=retain_graph)


def test_explicitly_wrapping_optimizers(start):
    handle = start(dtype=HALF)
    a, b = weight(1), weight(1)
    first, second = handle.wrap_optimizer(sgd(a)), handle.wrap_optimizer(sgd(b))
    backward(first.scale_loss((a * float("inf")).sum()))
    backward(second.scale_loss((b * 3).sum()))
    first.step()
    second.step()
    assert (a.item(), b.item()) == (1.0, -2.0), "each optimizer skips for itself"
    with pytest.raises(RuntimeError, match="after handle.wrap_optimizer"):
        backward(handle.scale_loss((a * 1).sum(), first))


def test_handling_multiple_backward_passes_each_with_its_scale(start):
    handle = start(dtype=HALF)
    w = weight(1)
    optimizer = handle.wrap_optimizer(sgd(w), num_loss=2)
    for factors, expected, scales in [((2, float("inf")), 1.0, [2.0**16, 2.0**15]), ((2, 3), -4.0, [2.0**16, 2.0**15]),
                                      ((float("nan"), 3), -4.0, [2.0**15, 2.0**15])]:
        optimizer.zero_grad()
        for factor in factors:
            backward(optimizer.scale_loss((w * factor).sum()))
        optimizer.step()
        assert w.item() == expected
        assert [state["scale"] for state in handle.state_dict()["wrapped"][0]] == scales


def test_more_passes_than_losses_take_turns(start):
    handle = start(dtype=HALF)
    w = weight(1)
    optimizer = handle.wrap_optimizer(sgd(w), num_loss=2)
    for factor in (1.0, float("inf"), 2.0, 3.0):
        backward(optimizer.scale_loss((w * factor).sum()))
    optimizer.step()
    assert w.item() == 1.0 and [s["scale"] for s in handle.state_dict()["wrapped"][0]] == [2.0**16, 2.0**15]


def test_a_wrapped_optimizer_is_an_optimizer(start):
    w = weight(1)
    inner = torch.optim.SGD([w], lr=1.0, momentum=0.9)
    optimizer = start(dtype=HALF).wrap_optimizer(inner)
    assert isinstance(optimizer, torch.optim.Optimizer) and optimizer.param_groups is inner.param_groups
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    backward(optimizer.scale_loss((w * 2).sum()))
    optimizer.step()
    scheduler.step()
    assert inner.param_groups[0]["lr"] == 0.5 and w.item() == -1.0
    assert optimizer.state is inner.state and optimizer.defaults is inner.defaults
    optimizer.load_state_dict(optimizer.state_dict())
    optimizer.add_param_group({"params": [weight(2)]})
    assert len(inner.param_groups) == 2 and repr(optimizer) == repr(inner)
    optimizer.zero_grad()
    assert w.grad is None
    with pytest.raises(NotImplementedError, match="closure"):
        optimizer.step(lambda: 0)
    with pytest.raises(ValueError, match="num_loss is 1 or more"):
        start(dtype=HALF).wrap_optimizer(inner, num_loss=0)


def test_loss_scales_are_saved_and_loaded(start):
    handle = start(dtype=HALF)
    optimizer = handle.wrap_optimizer(sgd(weight(1)), num_loss=2)
    backward(optimizer.scale_loss((optimizer.param_groups[0]["params"][0] * float("inf")).sum()))
    state = handle.state_dict()
    again = start(dtype=HALF)
    with pytest.raises(ValueError, match="other optimizers"):
        again.load_state_dict(state)
    again.wrap_optimizer(sgd(weight(1)), num_loss=2)
    again.load_state_dict(state)
    assert again.state_dict() == state and state["wrapped"][0][0]["scale"] == 2.0**15
