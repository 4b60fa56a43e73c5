"""castscope.amp keeps what apex-amp.md promises of the old handle, on the CPU. Its casts are in test_amp_casts.py."""

import subprocess
import sys
import threading

import pytest
import torch
import torch.nn.functional as F
from casting_verbs import FLOAT, HALF, LOW, amp_started
from castscope import amp
from torch import nn

start = pytest.fixture(amp_started)


def weight(*values):
    return nn.Parameter(torch.tensor([float(value) for value in values]))


def sgd(*parameters, lr=1.0):
    return torch.optim.SGD(parameters, lr=lr)


def backward(scaled, retain_graph=False):
    with scaled as scaled_loss:
        scaled_loss.backward(retain_graph=retain_graph)


# ---- 1. enable amp

def test_init_enables_casts_in_this_thread(start):
    handle = start()
    assert handle.is_active() and handle.has_cache and not handle.verbose
    assert F.linear(torch.ones(2, 2), torch.ones(2, 2)).dtype is LOW
    seen = []
    thread = threading.Thread(target=lambda: seen.append(torch.is_autocast_enabled("cpu")))
    thread.start()
    thread.join()
    assert seen == [False]


def test_whitelist_blacklist_and_promotion(start):
    start()
    low = torch.ones(2, 2, dtype=LOW)
    assert torch.mm(torch.ones(2, 2), low).dtype is LOW
    assert F.mse_loss(low, low).dtype is FLOAT
    assert torch.cat([low, torch.ones(2, 2)]).dtype is FLOAT and (low + torch.ones(2, 2)).dtype is FLOAT


def test_the_lower_precision_may_be_given(start):
    start(dtype=HALF)
    assert F.linear(torch.ones(2, 2), torch.ones(2, 2)).dtype is HALF


@pytest.mark.filterwarnings("ignore:.*target dtype is not supported")
def test_a_dtype_that_autocast_does_not_know_is_refused(start):
    with pytest.raises(ValueError, match="autocast on cpu is not possible with torch.float64"):
        start(dtype=torch.float64)
    assert torch.mm(torch.ones(2, 2), torch.ones(2, 2)).dtype is FLOAT


def test_enabled_false_is_a_pass_through(start):
    handle = start(enabled=False)
    w, loss = weight(2), torch.tensor(3.0)
    optimizer = sgd(w)
    before = dict(vars(optimizer))
    with handle.scale_loss(loss, optimizer) as scaled_loss:
        assert scaled_loss is loss
    wrapped = handle.wrap_optimizer(optimizer, num_loss=2)
    with wrapped.scale_loss(loss) as scaled_loss, handle.disable_casts(), handle._disable_casts():
        assert scaled_loss is loss
    w.grad = torch.tensor([1.0])
    wrapped.step()
    handle._clear_cache()
    handle.remove_cache(w)
    assert w.item() == 1.0 and vars(optimizer) == before, "nothing is patched"
    assert not handle.is_active() and not handle.has_cache and handle.state_dict() == {}
    assert torch.mm(torch.ones(2, 2), torch.ones(2, 2)).dtype is FLOAT


def test_init_again_begins_anew(start):
    first = start()
    second = start(dtype=HALF)
    assert not first.is_active() and second.is_active() and torch.mm(*[torch.ones(2, 2)] * 2).dtype is HALF
    start(enabled=False)
    assert not second.is_active() and torch.mm(*[torch.ones(2, 2)] * 2).dtype is FLOAT


def test_disable_casts(start):
    handle = start()
    loss = torch.tensor(3.0)
    with handle._disable_casts():
        assert not handle.is_active() and torch.mm(torch.ones(2, 2), torch.ones(2, 2)).dtype is FLOAT
        assert amp.half_function(lambda x: x.dtype)(torch.ones(2)) is FLOAT
        with handle.scale_loss(loss, sgd(weight(1))) as scaled_loss:
            assert scaled_loss is loss
    assert handle.is_active() and torch.mm(torch.ones(2, 2), torch.ones(2, 2)).dtype is LOW


def test_a_process_that_ends_with_the_handle_ends_well():
    code = ("from castscope import amp\nimport torch\nhandle = amp.init(verbose=True)\n"
            "print(torch.mm(torch.ones(2, 2), torch.ones(2, 2)).dtype)")
    done = subprocess.run([sys.executable, "-c", code], cwd=amp.__file__.partition("/castscope/amp/")[0],
                          capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.endswith("torch.bfloat16\n")


# ---- 2. wrap backpropagation

def losses(model, x, y):
    output = model(x)
    return F.mse_loss(output, y), output.float().abs().mean()


def trained(step, seed=3):
    """Weights after three steps of this kind: step(model, optimizer) makes them from the model and a plain SGD."""
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    optimizer = sgd(*model.parameters(), lr=0.1)
    data = [(torch.randn(5, 4), torch.randn(5, 2)) for _ in range(3)]
    run = step(model, optimizer)
    for x, y in data:
        run(x, y)
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def plain(dtype):
    def step(model, optimizer):
        def run(x, y):
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=dtype):
                first, second = losses(model, x, y)
            (first + second).backward()
            optimizer.step()
        return run
    return step


def begin_at(handle, scale):
    """The state after a while of training, when the scale has come down to where gradients fit into float16."""
    state = handle.state_dict()
    for one in [state["default"], *(scales for wrapped in state["wrapped"] for scales in wrapped)]:
        if one:
            one["scale"] = scale
    handle.load_state_dict(state)


@pytest.mark.parametrize("dtype, digits", [(LOW, dict(rtol=0, atol=0)), (HALF, dict(rtol=1e-3, atol=1e-6))])
def test_scaled_training_is_unscaled_training(start, dtype, digits):
    def scaled(model, optimizer):
        handle = start(dtype=dtype)
        begin_at(handle, 256.0)

        def run(x, y):
            optimizer.zero_grad()
            first, second = losses(model, x, y)
            backward(handle.scale_loss(first + second, optimizer))
            optimizer.step()
        return run

    expected = trained(plain(dtype))  # first: with the handle, its backward passes would run under autocast
    torch.testing.assert_close(trained(scaled), expected, **digits)


@pytest.mark.parametrize("set_to_none", [True, False])
def test_multiple_backward_passes_add_up(start, set_to_none):
    def scaled(model, optimizer):
        handle = start(dtype=HALF)
        optimizer = handle.wrap_optimizer(optimizer, num_loss=2)
        begin_at(handle, 256.0)

        def run(x, y):
            optimizer.zero_grad(set_to_none=set_to_none)
            first, second = losses(model, x, y)
            backward(optimizer.scale_loss(first), retain_graph=True)
            backward(optimizer.scale_loss(second))
            optimizer.step()
        return run

    def plain_passes(model, optimizer):
        def run(x, y):
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=HALF):
                first, second = losses(model, x, y)
            first.backward(retain_graph=True)
            second.backward()
            optimizer.step()
        return run

    expected = trained(plain_passes)
    torch.testing.assert_close(trained(scaled), expected, rtol=1e-3, atol=1e-6)


def test_gradients_accumulate_over_iterations(start):
    handle = start(dtype=HALF)
    w = weight(1)
    optimizer = sgd(w)
    for factor in (2.0, 3.0, 4.0):
        backward(handle.scale_loss((w * factor).sum(), optimizer))
    assert w.grad.item() == 9.0
    optimizer.step()
    assert w.item() == -8.0


def test_scale_loss_gives_the_scaled_loss(start):
    handle = start(dtype=HALF)
    w = weight(1)
    loss = (w * 3).sum()
    with handle.scale_loss(loss, sgd(w)) as scaled_loss:
        assert scaled_loss.item() == 3 * 2.0**16 and scaled_loss.dtype is FLOAT
        assert not torch.is_autocast_enabled("cpu"), "backward passes are not meant to run under autocast"
        scaled_loss.backward()
        assert w.grad.item() == 3 * 2.0**16
    assert w.grad.item() == 3.0 and torch.is_autocast_enabled("cpu")


def test_gradient_clipping_between_scale_loss_and_step(start):
    handle = start(dtype=HALF)
    w = weight(3, 4)
    optimizer = sgd(w)
    backward(handle.scale_loss((w * w / 2).sum(), optimizer))
    assert torch.nn.utils.clip_grad_norm_([w], 1.0).item() == 5.0
    optimizer.step()
    assert w.tolist() == pytest.approx([3 - 0.6, 4 - 0.8])


def scale_of(handle):
    return handle.state_dict()["default"]["scale"]


@pytest.mark.parametrize("bad", [float("inf"), float("nan")])
def test_a_step_with_infinite_gradients_is_skipped_once_and_the_scale_halves(start, bad):
    handle = start(dtype=HALF)
    w = weight(1)
    optimizer = sgd(w)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=1.0)
    step = optimizer.step
    backward(handle.scale_loss((w * bad).sum(), optimizer))
    optimizer.step()
    assert w.item() == 1.0 and scale_of(handle) == 2.0**15 and optimizer.step == step
    optimizer.zero_grad()
    backward(handle.scale_loss((w * 2).sum(), optimizer))
    optimizer.step()
    scheduler.step()
    assert w.item() == -1.0 and scale_of(handle) == 2.0**15


def test_a_scheduler_that_is_made_between_an_overflow_and_the_step(start):
    handle = start(dtype=HALF)
    w = weight(1)
    optimizer = sgd(w)
    backward(handle.scale_loss((w * float("inf")).sum(), optimizer))
    torch.optim.lr_scheduler.StepLR(optimizer, 1)
    optimizer.step()
    assert w.item() == 1.0
    w.grad = torch.tensor([2.0])
    optimizer.step()
    assert w.item() == -1.0


def test_an_overflow_that_was_thrown_away_skips_nothing(start):
    handle = start(dtype=HALF)
    w = weight(1)
    optimizer = sgd(w)
    backward(handle.scale_loss((w * float("inf")).sum(), optimizer))
    optimizer.zero_grad()
    backward(handle.scale_loss((w * 2).sum(), optimizer))
    optimizer.step()
    assert w.item() == -1.0


def test_an_overflow_in_one_of_the_accumulated_passes_skips_the_step(start):
    handle = start(dtype=HALF)
    w = weight(1)
    optimizer = sgd(w)
    for factor in (2.0, float("inf"), 2.0):
        backward(handle.scale_loss((w * factor).sum(), optimizer))
    optimizer.step()
    assert w.item() == 1.0 and "step" not in vars(optimizer)


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("zeroed", [dict(set_to_none=True), dict(set_to_none=False)])
def test_the_scale_changes_once_per_step(start, wrapped, zeroed):
    handle = start(dtype=HALF)
    w = weight(1)
    w.register_hook(lambda gradient: gradient * float("inf"))
    optimizer = handle.wrap_optimizer(sgd(w)) if wrapped else sgd(w)
    scales = []
    for _ in range(2):
        optimizer.zero_grad(**zeroed)
        for _ in range(3):
            loss = w.sum()
            with optimizer.scale_loss(loss) if wrapped else handle.scale_loss(loss, optimizer) as scaled_loss:
                scales.append(scaled_loss.item())
                scaled_loss.backward()
        optimizer.step()
    state = handle.state_dict()
    assert scales == [2.0**16] * 3 + [2.0**15] * 3
    assert (state["wrapped"][0][0] if wrapped else state["default"])["scale"] == 2.0**14


def test_an_optimizer_without_hooks(start):
    class Own:
        def __init__(self, parameter):
            self.param_groups = [{"params": [parameter]}]
            self.steps = 0

        def step(self):
            self.steps += 1

    handle = start(dtype=HALF)
    w = weight(1)
    optimizer = Own(w)
    for factor in (float("inf"), 2.0):
        w.grad = None
        backward(handle.scale_loss((w * factor).sum(), optimizer))
        optimizer.step()
    assert optimizer.steps == 1 and scale_of(handle) == 2.0**15


def test_float16_gradients_that_overflow_are_found(start):
    """The purpose of the scale: the loss fits into float16, its gradient times the scale does not."""
    handle = start(dtype=HALF)
    w = nn.Parameter(torch.ones(2, 2))
    optimizer = sgd(w, lr=1e-4)
    y = torch.mm(torch.full((2, 2), 100.0), w)
    backward(handle.scale_loss(y.float().sum(), optimizer))
    optimizer.step()
    assert scale_of(handle) == 2.0**15 and w[0, 0] == 1
    for _ in range(9):
        optimizer.zero_grad()
        backward(handle.scale_loss(torch.mm(torch.full((2, 2), 100.0), w).float().sum(), optimizer))
        optimizer.step()
    assert w.grad.tolist() == [[200, 200], [200, 200]] and w[0, 0] < 1


def test_gradients_may_be_views_of_what_a_backward_pass_writes(start):
    """Like the buckets of DistributedDataParallel."""
    handle = start(dtype=HALF)
    w, bucket = weight(1), torch.zeros(3)
    optimizer = sgd(w)
    w.grad = bucket[1:2].fill_(5.0)
    with handle.scale_loss((w * 2).sum(), optimizer) as scaled_loss:
        bucket.zero_()
        scaled_loss.backward()
    assert w.grad.item() == 7.0


def test_sparse_gradients_add_up(start):
    handle = start(dtype=HALF)
    table = nn.Embedding(4, 1, sparse=True)
    nn.init.ones_(table.weight)
    optimizer = sgd(table.weight)
    for index in (1, 1, 2):
        backward(handle.scale_loss(table(torch.tensor([index])).sum(), optimizer))
    optimizer.step()
    assert table.weight.flatten().tolist() == [1, -1, 0, 1]


def test_an_error_in_the_block_leaves_all_as_it_was(start):
    handle = start(dtype=HALF)
    w = weight(1)
    w.grad = torch.tensor([5.0])
    with pytest.raises(KeyError, match="mine"):
        with handle.scale_loss((w * 2).sum(), sgd(w)) as scaled_loss:
            scaled_loss.backward()
            raise KeyError("mine")
    assert w.grad.item() == 5.0 and torch.is_autocast_enabled("cpu")


def test_a_loss_that_reaches_no_parameter(start):
    handle = start(dtype=HALF)
    w, other = weight(1), weight(2)
    optimizer = sgd(w)
    backward(handle.scale_loss((other * 2).sum(), optimizer))
    optimizer.step()
    assert w.item() == 1.0 and w.grad is None
