"""The autocast cache: regions that one forward pass opens again. See apart.py."""

import torch
import torch.nn.functional as F
from apart import loss_of, main, region, rows, trained
from torch import nn


def steps(model, forward, count=3):
    _, optimizer = trained(model)
    for _ in range(count):
        loss = forward(model, rows())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


class Update(nn.Module):
    """The block that an iterative method runs again and again, as in optical flow."""

    def __init__(self):
        super().__init__()
        self.gate, self.delta = nn.Linear(64, 32), nn.Linear(32, 32)

    def forward(self, h, x):
        z = torch.sigmoid(self.gate(torch.cat([h, x], -1)))
        return z * h.to(z.dtype) + self.delta(z)


def c07_a_region_in_a_loop():
    def forward(update, x):
        h = torch.tanh(x)
        for _ in range(12):
            with region():  # finds: weight-cast-repeatedly
                h = update(h, x).float()
        return loss_of(h)

    steps(Update(), forward)


def c07_two_passes_of_one_loss():
    def forward(model, x):
        with region():
            first = model(x)
        with region():  # finds: weight-cast-repeatedly
            second = model(x + 0.1)
        return F.mse_loss(first.float(), second.float())

    steps(nn.Linear(32, 32), forward)


def c07n_the_region_around_the_loop():
    def forward(update, x):
        h = torch.tanh(x)
        with region():
            for _ in range(12):
                h = update(h, x).float()
        return loss_of(h)

    steps(Update(), forward)


def c07n_micro_batches():
    model, optimizer = trained()
    for step in range(8):
        with region():
            loss = loss_of(model(rows()))
        loss.backward()
        if step % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()


def c07n_two_players():
    maker, judge = nn.Linear(32, 32), nn.Linear(32, 1)
    for_maker, for_judge = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (maker, judge))
    for _ in range(3):
        with region():
            fake = maker(rows())
            loss = loss_of(judge(rows()) - judge(fake.detach()))
        loss.backward()
        for_judge.step()
        with region():
            loss = loss_of(judge(fake))
        loss.backward()
        for_maker.step()
        for_maker.zero_grad()
        for_judge.zero_grad()


def c07n_the_loss_in_a_region_of_its_own():
    def forward(model, x):
        with region():
            out = model(x)
        with region():
            return F.mse_loss(out.float(), x)

    steps(nn.Linear(32, 32), forward)


def c07n_a_batch_that_is_left_out():
    model, optimizer = trained()
    for step in range(6):
        with region():
            loss = loss_of(model(rows() * (float("inf") if step == 2 else 1)))
        if not torch.isfinite(loss):
            continue
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def c07n_evaluation_in_a_loop():
    def forward(model, x):
        with region():
            return loss_of(model(x))

    model = nn.Linear(32, 32)
    for _ in range(2):
        with torch.no_grad():
            for _ in range(5):
                with region():
                    model(rows())
        steps(model, forward, 2)


if __name__ == "__main__":
    main(globals())
