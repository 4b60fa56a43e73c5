"""Regions that end before the work begins: what users write, one function a case. See apart.py."""

import asyncio

import torch
from apart import loss_of, main, region, rows, trained
from torch import nn


def s09():
    @region()
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(32, 32)

        def forward(self, x):
            return self.layer(x)

    model = Net()  # finds: region-empty
    model(rows())


def s09_used_elsewhere():
    @region()
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Conv1d(2, 2, 3)

        def forward(self, x):
            return self.layer(x)

    def build():
        return Net()  # finds: region-empty

    def run(model):
        return [model(rows()) for _ in range(3)]

    run(build())


def s09n_forward_decorated():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(32, 32)

        @region()
        def forward(self, x):
            return self.layer(x)

    Net()(rows())


def s09n_object_decorated():
    model = region()(nn.Linear(32, 32))
    model(rows())


def s10():
    model = nn.Linear(32, 32)

    @region()
    def outputs(n):
        for _ in range(n):
            yield model(rows())

    list(outputs(3))  # finds: region-empty


def s10_coroutine():
    model = nn.Linear(32, 32)

    @region()
    async def work():
        return model(rows())

    async def serve():
        return await work()  # finds: region-empty

    asyncio.run(serve())


def s10_async_generator():
    model = nn.Linear(32, 32)

    @region()
    async def outputs():
        for _ in range(3):
            yield model(rows())

    async def serve():
        return [y async for y in outputs()]  # finds: region-empty

    asyncio.run(serve())


def s10_lazy_call():
    model = nn.Linear(32, 32)
    with region():  # finds: region-empty
        outputs = map(model, [rows() for _ in range(3)])
    list(outputs)


def s10_wrong_indentation():
    model, optimizer = trained()
    for _ in range(3):
        with region():  # finds: region-empty
            x = rows().clamp(-1, 1)
        loss = loss_of(model(x))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def s10n_plain_function():
    model = nn.Linear(32, 32)

    @region()
    def forward(x):
        return model(x)

    forward(rows())


def s10n_region_inside_the_generator():
    model = nn.Linear(32, 32)

    def outputs(n):
        for _ in range(n):
            with region():
                y = model(rows())
            yield y

    list(outputs(3))


def s10n_consumed_in_a_region():
    model = nn.Linear(32, 32)

    @region()
    def outputs(n):
        for _ in range(n):
            yield model(rows())

    with region():
        list(outputs(3))


def s10n_nothing_to_do():
    model, optimizer = trained()

    def load():
        with region():
            model.load_state_dict(model.state_dict())

    load()
    for i in range(3):
        with region():
            loss = loss_of(model(rows()))
        with region():
            if i > 5:
                loss = loss + loss_of(model(rows()))
        loss.backward()
        optimizer.step()


def s10n_metrics_in_float32():
    model = nn.Linear(32, 32)
    with region():
        pass  # a hook that some models fill
    with torch.no_grad(), region():
        y = model(rows())
    y.float() @ y.float().t()


def s10n_load_and_float32_elsewhere():
    def load(model):
        with region():
            model.load_state_dict(model.state_dict())

    model = nn.Linear(32, 32)
    load(model)
    model(rows())


if __name__ == "__main__":
    main(globals())
