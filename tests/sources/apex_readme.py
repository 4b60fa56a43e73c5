"""The README of apex's amp: its programs, for `castscope run --apex`, which finds apex where none is installed.

https://github.com/NVIDIA/apex/blob/master/apex/amp/README.md
"""

import sys
import types

import torch
import torch.nn.functional as F
from jobs import main
from torch import nn

from apex import amp

BATCHES = [(torch.randn(4, 10), torch.randn(4, 10)) for _ in range(4)]


def model_and_optimizer():
    model = nn.Sequential(nn.Linear(10, 10), nn.Tanh(), nn.Linear(10, 10))
    return model, torch.optim.SGD(model.parameters(), lr=0.1)


def loss_of(model, x, y):
    return F.mse_loss(model(x), y)


def one_optimizer():
    handle = amp.init()
    model, optimizer = model_and_optimizer()
    for x, y in BATCHES:
        optimizer.zero_grad()
        loss = loss_of(model, x, y)
        with handle.scale_loss(loss, optimizer) as scaled:
            scaled.backward()
        optimizer.step()


def switched_off():
    handle = amp.init(enabled=False)
    model, optimizer = model_and_optimizer()
    for x, y in BATCHES:
        optimizer.zero_grad()
        with handle.scale_loss(loss_of(model, x, y), optimizer) as scaled:
            scaled.backward()
        optimizer.step()


def every_cast_is_printed():
    amp.init(verbose=True)
    model, _ = model_and_optimizer()
    model(BATCHES[0][0])


def without_caching():
    amp.init(enable_caching=False)
    cell, state = nn.RNNCell(10, 10), torch.zeros(4, 10)
    for x, _ in BATCHES:
        state = cell(x, state)


def cells_in_a_loop():
    amp.init()
    cell, state = nn.RNNCell(10, 10), torch.zeros(4, 10)
    for x, _ in BATCHES:
        state = cell(x, state)


def without_scale_loss():
    handle = amp.init()
    model, optimizer = model_and_optimizer()
    for x, y in BATCHES:
        optimizer.zero_grad()
        loss_of(model, x, y).backward()  # mark: without scale_loss
        optimizer.step()
        handle._clear_cache()


def two_optimizers():
    handle = amp.init()
    (one, sgd_one), (two, sgd_two) = model_and_optimizer(), model_and_optimizer()
    sgd_one, sgd_two = handle.wrap_optimizer(sgd_one), handle.wrap_optimizer(sgd_two)
    for x, y in BATCHES:
        for model, optimizer in ((one, sgd_one), (two, sgd_two)):
            optimizer.zero_grad()
            with optimizer.scale_loss(loss_of(model, x, y)) as scaled:
                scaled.backward()
        sgd_one.step()
        sgd_two.step()


def two_losses():
    handle = amp.init()
    model, optimizer = model_and_optimizer()
    optimizer = handle.wrap_optimizer(optimizer, num_loss=2)
    for x, y in BATCHES:
        optimizer.zero_grad()
        for loss in (loss_of(model, x, y), model(x).abs().mean()):
            with optimizer.scale_loss(loss) as scaled:
                scaled.backward()
        optimizer.step()


def backend(given, hidden, weight, bias):
    """Stands for code that takes one dtype alone."""
    assert given.dtype == hidden.dtype == weight.dtype == bias.dtype, "the backend wants one dtype"
    return given.mul(weight).add(hidden).add(bias)


def mixed_arguments():
    return torch.randn(4, 10).bfloat16(), torch.randn(4, 10), torch.randn(4, 10), torch.randn(4, 10)


def annotated(annotation):
    amp.init()
    print(annotation(backend)(*mixed_arguments()).dtype)  # mark: annotated


def half_function():
    annotated(amp.half_function)


def float_function():
    annotated(amp.float_function)


def promote_function():
    annotated(amp.promote_function)


def registered(register):
    module = types.ModuleType("backend_module")
    module.backend = backend
    sys.modules["backend_module"] = module
    register(module, "backend")
    amp.init()
    print(module.backend(*mixed_arguments()).dtype)


def registered_half():
    registered(amp.register_half_function)


def registered_float():
    registered(amp.register_float_function)


def registered_promote():
    registered(amp.register_promote_function)


def recurrent_layers():
    amp.init()
    x = torch.randn(3, 4, 10)
    for kind in (nn.RNN, nn.LSTM, nn.GRU):
        print(kind.__name__, kind(10, 10)(x)[0].dtype)
    for kind in (nn.RNNCell, nn.LSTMCell, nn.GRUCell):
        result = kind(10, 10)(x[0])
        print(kind.__name__, (result[0] if isinstance(result, tuple) else result).dtype)


def the_three_kinds():
    amp.init()
    low, full = torch.randn(4, 4).bfloat16(), torch.randn(4, 4)
    print(F.conv2d(torch.randn(1, 1, 4, 4), torch.randn(1, 1, 3, 3)).dtype, torch.mm(full, full).dtype)
    print(torch.exp(low).dtype, F.mse_loss(low, low).dtype)
    print(torch.relu(low).dtype, torch.relu(full).dtype, (low + full).dtype, torch.cat([low, full]).dtype)
    print(full.mm(full).dtype, low.exp().dtype, F.linear(full, full).dtype)


if __name__ == "__main__":
    main(globals())
