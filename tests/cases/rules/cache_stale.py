"""The autocast cache returns old weights: training loops, checkpoints loaded, averages. See apart.py."""

import copy

import torch
import torch.nn.functional as F
from apart import main, region, rows
from torch import nn
from torch.utils.checkpoint import checkpoint


def c01n_no_grad_then_grad():
    model = nn.Linear(32, 32)
    with region():
        with torch.no_grad():
            model(rows())
        loss = model(rows()).float().sum()
    loss.backward()
    assert model.weight.grad is not None


def c01n_inference_mode_then_grad():
    model = nn.Linear(32, 32)
    with region():
        with torch.inference_mode():
            model(rows())
        loss = model(rows()).float().sum()
    loss.backward()
    assert model.weight.grad is not None


def c02():
    model, saved = nn.Linear(32, 32), nn.Linear(32, 32).state_dict()
    with region():
        model(rows())
        model.load_state_dict(saved)
        model(rows())  # finds: cache-stale-weight


def c02_late():
    """This happens long after the steps that castscope observes by default."""
    model, saved = nn.Linear(32, 32), nn.Linear(32, 32).state_dict()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def validate():
        with torch.no_grad():
            return model(rows())  # finds: cache-stale-weight

    for _ in range(30):
        with region():
            loss = model(rows()).float().sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    with region():
        validate()
        model.load_state_dict(saved)
        validate()


def c02n_between_two_regions():
    model, saved = nn.Linear(32, 32), nn.Linear(32, 32).state_dict()
    for _ in range(3):
        with region():
            model(rows())
        model.load_state_dict(saved)


def c02n_assign():
    model, saved = nn.Linear(32, 32), nn.Linear(32, 32).state_dict()
    with region():
        model(rows())
        model.load_state_dict(saved, assign=True)
        model.requires_grad_()
        model(rows())


def c02_swapped_averages():
    model = nn.Linear(32, 32)
    averaged = copy.deepcopy(model)
    with torch.no_grad():
        averaged.weight.add_(1)
    with torch.no_grad(), region():
        for weights in (model, averaged):
            for own, other in zip(model.parameters(), weights.parameters(), strict=True):
                own.data = other.data.clone()
            model(rows())  # finds: cache-stale-weight


def c03():
    model, x, y = nn.Linear(32, 32), rows(), rows()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with region():  # finds: region-spans-steps
        for _ in range(5):
            loss = F.mse_loss(model(x).float(), y)  # finds: cache-stale-weight
            optimizer.zero_grad()
            loss.backward()  # finds: region-contains-backward
            optimizer.step()


def c03_in_a_module():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.norm, self.last = nn.Linear(32, 64), nn.LayerNorm(64), nn.Linear(64, 1)

        def forward(self, x):
            x = self.norm(self.first(x)).relu()  # finds: cache-stale-weight
            return self.last(x)  # finds: cache-stale-weight

    net = Net()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-5)  # less than bfloat16 can tell
    net(rows()).mean().backward()
    with region():
        net(rows())
        optimizer.step()
        net(rows())


def c03n_region_per_step():
    model, x, y = nn.Linear(32, 32), rows(), rows()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        with region():
            loss = F.mse_loss(model(x).float(), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def c03n_cache_off():
    model = nn.Linear(32, 32)
    with region(cache_enabled=False):
        model(rows())
    with torch.no_grad():
        model.weight.add_(1)
    with region(cache_enabled=False):
        model(rows())


def c03n_written_to_with_the_same_values():
    model = nn.Linear(32, 32)
    with region():
        for _ in range(3):
            model(rows())
            with torch.no_grad():
                model.weight.mul_(1.0)
                model.bias.clamp_(-100, 100)


def c03n_accumulation_and_scaler():
    model = nn.Sequential(nn.Linear(32, 32), nn.LayerNorm(32), nn.Linear(32, 4))
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    scaler = torch.amp.GradScaler("cpu", enabled=True)
    for _ in range(4):
        for _ in range(2):
            with region(torch.float16):
                loss = F.cross_entropy(model(rows()), torch.tensor([0, 1])) / 2
            scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def c03n_several_passes_in_a_region():
    model = nn.Linear(32, 32)
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(4):
        with region():
            loss = F.mse_loss(model(rows()).float(), model(rows()).float().detach())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def c03n_averages_and_validation():
    model = nn.Linear(32, 32)
    average = torch.optim.swa_utils.AveragedModel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model.train()
        with region():
            loss = model(rows()).float().sum()
        loss.backward()
        optimizer.step()
        average.update_parameters(model)
        model.eval()
        with torch.no_grad(), region():
            for _ in range(2):
                model(rows())
                average(rows())


def c03n_checkpoint():
    model = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        with region():
            loss = checkpoint(model, rows(), use_reentrant=False).float().sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def c03n_two_models_in_turn():
    one, two = nn.Linear(32, 32), nn.Linear(32, 32)
    first, second = (torch.optim.Adam(m.parameters()) for m in (one, two))
    for _ in range(4):
        for model, optimizer in ((one, first), (two, second)):
            with region():
                loss = two(one(rows())).float().sum()
            loss.backward()
            optimizer.step()
            one.zero_grad()
            two.zero_grad()


def s03_and_an_update():
    model = nn.Linear(32, 32)
    torch.set_autocast_enabled("cpu", True)  # finds: cache-never-cleared
    for _ in range(3):
        model(rows())  # finds: cache-stale-weight
        with torch.no_grad():
            model.weight.add_(0.1)


def x12():
    """The half without torch.compile: the compiled function casts its weights at each call."""
    weight = nn.Parameter(torch.randn(32, 32))

    def product(x):
        return x @ weight  # finds: cache-stale-weight

    with region():
        product(rows())
        with torch.no_grad():
            weight.mul_(2)
        product(rows())


if __name__ == "__main__":
    main(globals())
