"""Regions held open across an await or yield: what users write, one function a case. See apart.py."""

import asyncio
import contextlib

import torch
from apart import loss_of, main, region, rows
from torch import nn


def s11():
    model = nn.Linear(32, 32)

    async def low():
        with region():  # finds: region-leaks-through-yield
            model(rows())
            await asyncio.sleep(0)
            model(rows())

    async def full():
        model(rows())

    async def serve():
        await asyncio.gather(low(), full())

    asyncio.run(serve())


def s11_both_have_regions():
    model = nn.Linear(32, 32)

    async def handle():
        with region():  # finds: region-leaks-through-yield
            model(rows())
            await asyncio.sleep(0)
            model(rows())

    async def serve():
        await asyncio.gather(handle(), handle())

    asyncio.run(serve())


def s11_through_a_context_manager():
    model = nn.Linear(32, 32)

    @contextlib.contextmanager
    def low_precision():
        with region():  # finds: region-leaks-through-yield
            yield

    async def low():
        with low_precision():
            model(rows())
            await asyncio.sleep(0)

    async def full():
        model(rows())

    async def serve():
        await asyncio.gather(low(), full())

    asyncio.run(serve())


def s11_generator():
    model, other = nn.Linear(32, 32), nn.Linear(32, 32)

    def outputs(n):
        with region():  # finds: region-leaks-through-yield
            for _ in range(n):
                yield model(rows())

    for y in outputs(3):
        other(y.float())


def s11n_no_await_inside():
    model = nn.Linear(32, 32)

    async def low():
        with region():
            model(rows())
        await asyncio.sleep(0)
        with region():
            model(rows())

    async def serve():
        await asyncio.gather(low(), low())

    asyncio.run(serve())


def s11n_nobody_else_computes():
    model = nn.Linear(32, 32)

    async def inner():
        await asyncio.sleep(0)
        return model(rows())

    async def low():
        with region():
            await inner()

    async def wait():
        await asyncio.sleep(0)
        rows().relu()

    async def serve():
        await asyncio.gather(low(), wait())

    asyncio.run(serve())


def s11n_context_managers():
    model = nn.Linear(32, 32)

    @contextlib.contextmanager
    def low_precision():
        with region():
            yield

    @contextlib.contextmanager
    def lower_still():
        with low_precision(), torch.no_grad():
            yield

    @contextlib.asynccontextmanager
    async def asynchronous():
        with region():
            yield

    async def serve():
        async with asynchronous():
            model(rows())

    @low_precision()
    def decorated():
        model(rows())

    with low_precision():
        model(rows())
    with lower_still():
        model(rows())
    with contextlib.ExitStack() as stack:
        stack.enter_context(lower_still())
        model(rows())
    decorated()
    asyncio.run(serve())


class Session:
    """Enters in one method and leaves in another."""

    def __enter__(self):
        self.region = region()
        self.region.__enter__()
        return self

    def __exit__(self, *error):
        self.region.__exit__(*error)

    async def __aenter__(self):
        return self.__enter__()

    async def __aexit__(self, *error):
        self.__exit__(*error)


def s11n_class_that_enters_and_leaves():
    model = nn.Linear(32, 32)

    async def serve():
        async with Session():
            model(rows())

    with Session():
        model(rows())
    asyncio.run(serve())


def s11n_hooks_and_backward():
    model = nn.Sequential(nn.Linear(32, 32), nn.Linear(32, 32))
    model[0].register_forward_hook(lambda module, args, output: output @ torch.ones(32, 32))

    async def train():
        with region():
            loss = loss_of(model(rows()))
        await asyncio.sleep(0)
        loss.backward()

    async def serve():
        await asyncio.gather(train(), train())

    asyncio.run(serve())


if __name__ == "__main__":
    main(globals())
