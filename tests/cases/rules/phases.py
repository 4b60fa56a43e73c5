"""Training and evaluation: what users write, one function a case. See apart.py."""

import torch
import torch.nn.functional as F
from apart import main, region, rows
from torch import nn


def net():
    return nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 5))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(32, 64), nn.Linear(64, 5)

    def forward(self, x):
        h = F.relu(self.up(x))
        return self.down(h)


def labels(n=2):
    return torch.randint(0, 5, (n,))


def train(model, steps=3):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        with region():
            loss = F.cross_entropy(model(rows()), labels())
        loss.backward()
        optimizer.step()


def c59():
    model = net()
    train(model)
    model.eval()
    with torch.no_grad():
        for _ in range(2):
            F.cross_entropy(model(rows()), labels())  # finds: phase-dtype-drift


def c59_own_module():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.up, self.down = nn.Linear(32, 64), nn.Linear(64, 5)

        def forward(self, x):
            h = F.relu(self.up(x))  # finds: phase-dtype-drift
            return self.down(h)

    model = Model()
    train(model)
    with torch.inference_mode():
        model(rows())


def c59_each_epoch():
    model = net()
    for _ in range(2):
        train(model, 1)
        with torch.no_grad():
            model(rows())  # finds: phase-dtype-drift


def c59_after_many_steps():
    model = net()
    train(model, 60)  # none of the last ones is deep
    with torch.no_grad():
        model(rows())  # finds: phase-dtype-drift


def c59_in_the_other_half():
    model = net()
    train(model, 2)  # the third step is still looked at
    with torch.no_grad(), region(torch.float16):
        model(rows())  # finds: phase-dtype-drift


def c59_without_modules():
    weight = torch.randn(32, 5, requires_grad=True)

    def predict(x):
        return x @ weight  # finds: phase-dtype-drift

    for _ in range(2):
        with region():
            loss = F.cross_entropy(predict(rows()), labels())
        loss.backward()
    with torch.no_grad():
        predict(rows())


def c59n_both_in_a_region():
    model = net()
    train(model)
    with torch.no_grad(), region():
        model(rows())
    with torch.inference_mode(), region():
        model(rows())


def c59n_float_on_purpose():
    model = net()
    train(model)
    with torch.no_grad(), torch.autocast("cpu", enabled=False):
        model(rows())


def c59n_no_region_at_all():
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with region():
        nn.Linear(32, 32)(rows())
    F.cross_entropy(model(rows()), labels()).backward()
    optimizer.step()
    with torch.no_grad():
        model(rows())


def c59n_dry_run_before():
    model = net()
    with torch.no_grad():
        model(rows())
    train(model)


def output_size(layers, x):
    """Finds out by a forward pass, as libraries do that fit each next layer to what comes out of those before it."""
    with torch.no_grad():
        return layers(x).shape[-1]


def fitted(width=32):
    layers = nn.Sequential(nn.Linear(width, 32), nn.ReLU())
    for _ in range(2):
        layers.append(nn.Linear(output_size(layers, torch.zeros(2, width)), 16))
    layers.append(nn.Linear(output_size(layers, torch.zeros(2, width)), 5))
    return layers


def c59n_shapes_inferred_before():
    train(fitted())


def c59n_validated_before():
    model = net()
    with torch.no_grad():
        for _ in range(3):
            model(rows())
    train(model)


def c59_validated_before_and_after():
    model = net()

    def validate():
        with torch.no_grad():
            for _ in range(2):
                model(rows())  # finds: phase-dtype-drift

    validate()
    train(model)
    validate()


def c59_two_models_in_one_validation():
    first, second = nn.Linear(32, 32), nn.Linear(32, 5)
    optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.01)
    for _ in range(3):
        with region():
            loss = F.cross_entropy(second(torch.relu(first(rows()))), labels())
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        h = torch.relu(first(rows()))  # finds: phase-dtype-drift
        second(h)


def c59_two_validations():
    model = net()
    train(model)

    def validate():
        with torch.no_grad():
            model(rows())  # finds: phase-dtype-drift

    def sample():
        with torch.no_grad():
            model(rows())  # finds: phase-dtype-drift

    validate()
    sample()


def c59_an_operator_that_raised_computes_nothing():
    body, head = nn.Linear(32, 32), nn.Linear(32, 5)

    def logits(h):
        return head(h)  # finds: dtype-mismatch-error

    optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.01)
    for _ in range(3):
        with region():
            loss = F.cross_entropy(logits(body(rows())), labels())
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        with region():
            h = body(rows())
        try:
            logits(h)
        except RuntimeError:
            pass


def c59n_converted_model():
    model = net()
    train(model)
    model.bfloat16()
    with torch.no_grad():
        model(rows().bfloat16())


def c59n_another_model_of_the_same_class():
    teacher, student = Net(), Net()
    teacher.requires_grad_(False)
    optimizer = torch.optim.SGD(student.parameters(), lr=0.01)
    for _ in range(3):
        x = rows()
        with torch.no_grad():
            wanted = teacher(x)
        with region():
            loss = F.mse_loss(student(x), wanted)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def c59n_traced_after_training():
    model = net()
    train(model)
    with torch.no_grad():
        torch.jit.trace(model, rows())


def c59n_checkpointed():
    from torch.utils.checkpoint import checkpoint
    model = net()
    for _ in range(2):
        with region():
            loss = checkpoint(model, rows().requires_grad_(), use_reentrant=True).float().sum()
        loss.backward()
    with torch.no_grad(), region():
        model(rows())


def c59n_float_part():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head = nn.Linear(32, 32), nn.Linear(32, 5)

        def forward(self, x):
            with region():
                h = self.body(x)
            with torch.autocast("cpu", enabled=False):
                return self.head(h.float())

    model = Model()
    for _ in range(2):
        F.cross_entropy(model(rows()), labels()).backward()
    with torch.no_grad():
        model(rows())


if __name__ == "__main__":
    main(globals())
