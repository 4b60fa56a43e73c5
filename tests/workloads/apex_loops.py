"""Training loops written for apex.amp, each as its README tells: apex_loops.py LOOP [float16].

Each makes four iterations, every one of which ends with an optimizer's step, taken or left out. `from apex import amp`
works under `castscope run --apex`; elsewhere castscope.amp is imported by its own name.
"""

import sys

import torch
import torch.nn.functional as F
from torch import nn

try:
    from apex import amp
except ImportError:
    from castscope import amp

ITERATIONS = 4
WIDTH = 16
chosen = {"dtype": torch.float16} if sys.argv[2:] == ["float16"] else {}  # apex knows no such argument


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 1)

    def forward(self, x):
        return self.head(torch.tanh(self.body(x)))


def data():
    generator = torch.Generator().manual_seed(1)
    for _ in range(ITERATIONS):
        yield torch.randn(8, WIDTH, generator=generator), torch.randn(8, 1, generator=generator)


def sgd(module):
    return torch.optim.SGD(module.parameters(), lr=0.01)


def basic(**options):
    handle = amp.init(**options, **chosen)
    model = Net()
    optimizer = sgd(model)
    for x, y in data():
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        with handle.scale_loss(loss, optimizer) as scaled_loss:
            scaled_loss.backward()
        optimizer.step()


def without_caching():
    basic(enable_caching=False)


def verbose():
    basic(verbose=True)


def clipped():
    handle = amp.init(**chosen)
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    for x, y in data():
        with handle.scale_loss(F.mse_loss(model(x), y), optimizer) as scaled_loss:
            scaled_loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()


def wrapped():
    model = Net()
    optimizer = sgd(model)
    handle = amp.init(**chosen)
    optimizer = handle.wrap_optimizer(optimizer)
    for x, y in data():
        optimizer.zero_grad()
        with optimizer.scale_loss(F.mse_loss(model(x), y)) as scaled_loss:
            scaled_loss.backward()
        optimizer.step()


def two_optimizers():
    handle = amp.init(**chosen)
    first, second = Net(), Net()
    one, other = handle.wrap_optimizer(sgd(first)), handle.wrap_optimizer(sgd(second))
    for x, y in data():
        one.zero_grad()
        other.zero_grad()
        with one.scale_loss(F.mse_loss(first(x), y)) as scaled_loss:
            scaled_loss.backward()
        with other.scale_loss(F.mse_loss(second(x), y)) as scaled_loss:
            scaled_loss.backward()
        one.step()
        other.step()


def two_optimizers_in_turn():
    handle = amp.init(**chosen)
    first, second = Net(), Net()
    one, other = handle.wrap_optimizer(sgd(first)), handle.wrap_optimizer(sgd(second))
    for x, y in data():
        losses = F.mse_loss(first(x), y), F.mse_loss(second(x), y)
        for optimizer, loss in zip((one, other), losses):
            optimizer.zero_grad()
            with optimizer.scale_loss(loss) as scaled_loss:
                scaled_loss.backward()
            optimizer.step()


def two_losses():
    model = Net()
    handle = amp.init(**chosen)
    optimizer = handle.wrap_optimizer(sgd(model), num_loss=2)
    for x, y in data():
        optimizer.zero_grad()
        with optimizer.scale_loss(F.mse_loss(model(x), y)) as scaled_loss:
            scaled_loss.backward()
        with optimizer.scale_loss(F.l1_loss(model(-x), y)) as scaled_loss:
            scaled_loss.backward()
        optimizer.step()


def accumulated():
    handle = amp.init(**chosen)
    model = Net()
    optimizer = sgd(model)
    for x, y in data():
        optimizer.zero_grad()
        for part, wanted in zip(x.chunk(2), y.chunk(2)):
            with handle.scale_loss(F.mse_loss(model(part), wanted), optimizer) as scaled_loss:
                scaled_loss.backward()
        optimizer.step()


def overflowing():
    handle = amp.init(**chosen)
    model = Net()
    optimizer = sgd(model)
    for number, (x, y) in enumerate(data()):
        optimizer.zero_grad()
        overflows = chosen and number in (1, 3)  # with bfloat16 no step is left out: the weights would be NaN
        loss = F.mse_loss(model(x), y) * (float("inf") if overflows else 1.0)
        with handle.scale_loss(loss, optimizer) as scaled_loss:
            scaled_loss.backward()
        optimizer.step()


def overflowing_wrapped():
    handle = amp.init(**chosen)
    model = Net()
    optimizer = handle.wrap_optimizer(sgd(model), num_loss=2)
    for number, (x, y) in enumerate(data()):
        optimizer.zero_grad()
        for factor in (1.0, float("inf") if chosen and number % 2 == 1 else 1.0):
            with optimizer.scale_loss(F.mse_loss(model(x), y) * factor) as scaled_loss:
                scaled_loss.backward()
        optimizer.step()


def by_hand():
    handle = amp.init(**chosen)
    model = Net()
    optimizer = sgd(model)
    for x, y in data():
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        optimizer.step()
        handle._clear_cache()


def casts_disabled():
    handle = amp.init(**chosen)
    model = Net()
    optimizer = sgd(model)
    for x, y in data():
        optimizer.zero_grad()
        output = model(x)
        with handle._disable_casts():
            loss = F.mse_loss(output.float(), y)
        with handle.scale_loss(loss, optimizer) as scaled_loss:
            scaled_loss.backward()
        optimizer.step()


def cells():
    handle = amp.init(**chosen)
    cell, head = nn.LSTMCell(WIDTH, WIDTH), nn.Linear(WIDTH, 1)
    optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.01)
    for x, y in data():
        optimizer.zero_grad()
        state = None
        for _ in range(3):
            state = cell(x, state)
        with handle.scale_loss(F.mse_loss(head(state[0]), y), optimizer) as scaled_loss:
            scaled_loss.backward()
        optimizer.step()


class Backend:
    @staticmethod
    def blend(one, other):
        return one * 0.5 + other * 0.5


def annotated():
    @amp.half_function
    def fru(input, hidden, weight, bias):
        return torch.addmm(bias, input + hidden, weight)

    @amp.float_function
    def norm(value):
        return value / value.pow(2).sum().sqrt()

    amp.register_promote_function(Backend, "blend")
    handle = amp.init(**chosen)
    weight, bias = nn.Parameter(torch.eye(WIDTH)), nn.Parameter(torch.zeros(WIDTH))
    optimizer = torch.optim.SGD([weight, bias], lr=0.01)
    for x, _ in data():
        optimizer.zero_grad()
        hidden = torch.zeros_like(x)
        for _ in range(3):
            hidden = fru(x, hidden, weight, bias)
        loss = Backend.blend(norm(hidden), x).float().pow(2).mean()
        with handle.scale_loss(loss, optimizer) as scaled_loss:
            scaled_loss.backward()
        optimizer.step()


def initialized():
    model = Net()
    model, optimizer = amp.initialize(model, sgd(model), opt_level="O1")
    for x, y in data():
        optimizer.zero_grad()
        with amp.scale_loss(F.mse_loss(model(x), y), optimizer) as scaled_loss:
            scaled_loss.backward()
        nn.utils.clip_grad_norm_(amp.master_params(optimizer), 1.0)
        optimizer.step()


if __name__ == "__main__":
    torch.manual_seed(0)
    globals()[sys.argv[1]]()
    print("done")
