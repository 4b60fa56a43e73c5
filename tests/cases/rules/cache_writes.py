"""Ways of writing to what the autocast cache holds a copy of: weights, and inputs. See apart.py."""

import torch
from apart import in_threads, main, region, rows
from torch import nn


def s02():
    model, x = nn.Linear(32, 32), torch.randn(2, 32, requires_grad=True)
    with region():
        for _ in range(3):
            model(x)  # finds: cache-holds-input
            with torch.no_grad():
                x += 0.1 * torch.randn(2, 32).sign()


def s02_many():
    model = nn.Linear(32, 32)
    with region():
        for _ in range(50):
            model(torch.randn(32, 32, requires_grad=True))  # finds: cache-holds-input


def s02n_plain_inputs():
    model = nn.Linear(32, 32)
    with region():
        for _ in range(50):
            model(torch.randn(32, 32))


def s02n_region_per_step():
    model, x = nn.Linear(32, 32), torch.randn(2, 32, requires_grad=True)
    for _ in range(20):
        with region():
            loss = model(x).float().sum()
        (gradient,) = torch.autograd.grad(loss, x)
        with torch.no_grad():
            x += 0.1 * gradient.sign()


def s02n_one_input_for_several_layers():
    layers, x = nn.ModuleList(nn.Linear(32, 32) for _ in range(3)), torch.randn(2, 32, requires_grad=True)
    with region():
        for _ in range(10):
            for layer in layers:
                layer(x)


def s02n_gradient_penalty():
    critic = nn.Linear(32, 1)
    optimizer = torch.optim.Adam(critic.parameters())
    for _ in range(4):
        with region():
            between = rows().requires_grad_()
            out = critic(between).float().sum()
        (gradient,) = torch.autograd.grad(out, between, create_graph=True)
        (gradient.norm() - 1).square().backward()
        optimizer.step()
        optimizer.zero_grad()


def x01_data_replaced():
    model = nn.Linear(32, 32)
    with region():
        model(rows())
        model.weight.data = torch.randn(32, 32)
        model(rows())  # finds: cache-stale-weight


def x01_data_written():
    model = nn.Linear(32, 32)
    with region():
        model(rows())
        model.weight.data.add_(1)
        model(rows())  # finds: cache-stale-weight


def x01_numpy_view():
    model = nn.Linear(32, 32)
    with region():
        model(rows())
        model.weight.detach().numpy()[:] += 1
        model(rows())  # finds: cache-stale-weight


def x01_vector_to_parameters():
    model = nn.Linear(32, 32)
    with region():
        model(rows())
        nn.utils.vector_to_parameters(nn.utils.parameters_to_vector(model.parameters()) + 1, model.parameters())
        model(rows())  # finds: cache-stale-weight


def x01_fused_optimizers():
    for kind in (torch.optim.Adam, torch.optim.SGD):
        model = nn.Linear(32, 32)
        optimizer = kind(model.parameters(), lr=0.01, fused=True)
        model(rows()).sum().backward()
        with region():
            model(rows())
            optimizer.step()
            model(rows())  # finds: cache-stale-weight


def x01_fused_optimizer_late():
    """This happens long after the steps that castscope observes by default."""
    model = nn.Linear(32, 32)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, fused=True)
    for step in range(40):
        with region():
            loss = model(rows()).float().sum()
            if step == 35:
                optimizer.step()
                loss = model(rows()).float().sum()  # finds: cache-stale-weight
        loss.backward()
        optimizer.step()


def x01_one_row():
    model = nn.Linear(32, 32)
    with region():
        model(rows())
        with torch.no_grad():
            model.weight[5] = 7
        model(rows())  # finds: cache-stale-weight


def x01_in_another_thread():
    model = nn.Linear(32, 32)

    def work():
        torch.set_autocast_enabled("cpu", True)
        model(rows())  # finds: cache-stale-weight
        torch.set_autocast_enabled("cpu", False)

    with region():
        model(rows())
        model.weight.data.add_(1)
        in_threads(work, 1)


def x01n_between_regions():
    model = nn.Linear(32, 32)
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    model(rows()).sum().backward()
    for _ in range(3):
        with region():
            model(rows())
            model(rows())
        model.weight.data.add_(1)
        model.weight.data = torch.randn(32, 32)
        optimizer.step()


def x01n_cleared_by_hand():
    model = nn.Linear(32, 32)
    with region():
        for _ in range(3):
            model(rows())
            model.weight.data.add_(1)
            torch.clear_autocast_cache()


def x01n_moved_with_its_values():
    model = nn.Linear(32, 32)
    with region():
        for _ in range(3):
            model(rows())
            model.weight.data = model.weight.data.clone()


def x01n_other_weights_change():
    model, other = nn.Linear(32, 32), nn.Linear(32, 32)
    optimizer = torch.optim.SGD(other.parameters(), lr=0.1)
    other(rows()).sum().backward()
    with region():
        model(rows())
        optimizer.step()
        model(rows())


if __name__ == "__main__":
    main(globals())
