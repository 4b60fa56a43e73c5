"""castscope.amp: casts. The cache, RNN cells and layers, verbose, and how thread and process are affected."""

import gc
import re
import weakref

import pytest
import torch
import torch.nn.functional as F
from casting_verbs import FLOAT, LOW, amp_started
from castscope import amp
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

start = pytest.fixture(amp_started)


class Casts(TorchDispatchMode):
    """Counts conversions by the shape of the converted tensor."""

    def __init__(self):
        super().__init__()
        self.shapes = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function is torch.ops.aten._to_copy.default:
            self.shapes.append(tuple(args[0].shape))
        return function(*args, **(kwargs or {}))


def sgd(*parameters):
    return torch.optim.SGD(parameters, lr=1.0)


def backward(scaled):
    with scaled as scaled_loss:
        scaled_loss.backward()


@pytest.mark.parametrize("cell, weights", [(nn.RNNCell, 4), (nn.LSTMCell, 4), (nn.GRUCell, 4)])
@pytest.mark.parametrize("enable_caching, times", [(True, 1), (False, 5)])
def test_rnn_cells_in_a_loop_cast_their_weights_once(start, cell, weights, enable_caching, times):
    handle = start(enable_caching=enable_caching)
    model, x = cell(3, 7), torch.ones(5, 2, 3)
    optimizer = sgd(*model.parameters())
    for _ in range(2):
        with Casts() as casts:
            state = None
            for step in range(5):
                state = model(x[step], state)
        of_weights = [shape for shape in casts.shapes if shape[0] in (7, 21, 28)]
        assert len(of_weights) == weights * times
        hidden = state[0] if isinstance(state, tuple) else state
        backward(handle.scale_loss(hidden.float().sum(), optimizer))
    assert model.weight_hh.grad.dtype is FLOAT and model.weight_hh.grad.abs().sum() > 0


@pytest.mark.skipif(not torch.ops.mkldnn._is_mkldnn_bf16_supported(), reason="this CPU has no bfloat16 for RNN layers")
@pytest.mark.parametrize("layer", [nn.RNN, nn.LSTM, nn.GRU])
def test_rnn_layers_work_in_lower_precision(start, layer):
    handle = start()
    model, x = layer(4, 4, num_layers=2, bidirectional=True), torch.ones(3, 2, 4)
    with Casts() as casts:
        output, _ = model(F.linear(x, torch.eye(4)))
    assert len([shape for shape in casts.shapes if shape in {tuple(p.shape) for p in model.parameters()}]) >= 16
    backward(handle.scale_loss(output.float().sum(), sgd(*model.parameters())))
    assert all(p.grad is not None and p.grad.dtype is FLOAT for p in model.parameters())


def test_the_cache_is_cleared_by_scale_loss(start):
    handle = start()
    w = nn.Parameter(torch.eye(2))
    optimizer = sgd(w)
    for expected in (1.0, 0.0, -1.0):
        y = torch.mm(torch.eye(2), w)
        assert y[0, 0].item() == expected, "the weight as it is, not as it was cast before the last step"
        optimizer.zero_grad()
        backward(handle.scale_loss(y.diagonal().float().sum(), optimizer))
        optimizer.step()


def test_the_cache_is_cleared_by_hand(start):
    handle = start()
    w = nn.Parameter(torch.eye(2))
    torch.mm(w, w)
    w.data.mul_(2)
    assert torch.mm(torch.eye(2), w)[0, 0] == 1, "what the cache does"
    handle._clear_cache()
    assert torch.mm(torch.eye(2), w)[0, 0] == 2


@pytest.mark.parametrize("enable_caching, times", [(True, 1), (False, 3)])
def test_weights_passed_to_an_annotated_function_are_cast_once(start, enable_caching, times):
    handle = start(enable_caching=enable_caching)
    w = nn.Parameter(torch.ones(2, 2))
    optimizer = sgd(w)

    @amp.half_function
    def fru(x, weight):
        return torch.mm(x, weight)

    for _ in range(2):
        with Casts() as casts:
            x = torch.ones(3, 2)
            for _ in range(3):
                x = fru(x, w)
        assert casts.shapes.count((2, 2)) == times
        optimizer.zero_grad()
        backward(handle.scale_loss(x.float().sum(), optimizer))
        assert w.grad.norm() > 0
        optimizer.step()


def test_a_weight_cast_without_a_graph_is_not_served_to_training(start):
    handle = start()
    w = nn.Parameter(torch.ones(2, 2))
    product = amp.half_function(lambda weight: weight * 2)
    with torch.no_grad():
        product(w)
    backward(handle.scale_loss(product(w).float().sum(), sgd(w)))
    assert w.grad.tolist() == [[2, 2], [2, 2]]
    assert product(w)[0, 0] == 2
    with torch.no_grad():
        w.mul_(3)
    assert product(w)[0, 0] == 6, "nor is one that has been written since"


def test_the_cache_keeps_no_weight_alive_after_the_iteration(start):
    handle = start()
    w = nn.Parameter(torch.ones(2, 2))
    backward(handle.scale_loss(amp.half_function(lambda w: w * 2)(w).float().sum(), sgd(w)))
    gone = weakref.ref(w)
    del w
    gc.collect()
    assert gone() is None


# ---- verbose

def line_of(text):
    with open(__file__, encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if line.strip().startswith(text))


def test_verbose_prints_every_cast_with_its_source_line(start, capsys):
    @amp.float_function
    def annotated(x):
        return x.sum()

    handle = start(verbose=True)
    assert handle.verbose
    w, x = nn.Parameter(torch.ones(2, 2)), torch.ones(2, 2)
    y = F.linear(x, w)
    torch.mm(x, w)
    loss = annotated(y)
    y.float(), y.to(FLOAT), y.double(), torch.softmax(y, 0, dtype=FLOAT)
    with torch.autocast("cpu", enabled=False):
        torch.mm(x, w)
    backward(handle.scale_loss(loss, sgd(w)))
    first, second, third = line_of("y = F.linear(x, w)"), line_of("torch.mm(x, w)"), line_of("loss = annotated(y)")
    printed = [re.sub(r"\S*(?=test_amp_casts\.py)", "", line) for line in capsys.readouterr().out.splitlines()]
    assert printed == [f"Float->BFloat16 (linear) test_amp_casts.py:{first}"] * 2 + [
        f"Float->BFloat16 (mm) test_amp_casts.py:{second}", f"BFloat16->Float (annotated) test_amp_casts.py:{third}"]


def test_without_verbose_nothing_is_printed(start, capsys):
    start()
    torch.mm(torch.ones(2, 2), torch.ones(2, 2))
    assert capsys.readouterr() == ("", "")


# ---- annotating user functions

def test_annotations_have_their_names_here(start):
    import castscope

    for name in ("half_function", "float_function", "promote_function", "register_half_function",
                 "register_float_function", "register_promote_function"):
        assert getattr(amp, name) is getattr(castscope, name)
    start()
    assert amp.promote_function(lambda x, y: x.dtype)(torch.ones(2, dtype=LOW), torch.ones(2)) is FLOAT
