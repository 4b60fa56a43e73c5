"""What a region covers, and what it does not: what users write, one function a case. See apart.py."""

import asyncio
import concurrent.futures
import contextlib
import os
import threading
import warnings

os.environ["CUDA_VISIBLE_DEVICES"] = ""  # some of the cases are about a GPU that is not there

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from apart import main, region, rows  # noqa: E402
from torch import nn  # noqa: E402

warnings.simplefilter("ignore", UserWarning)  # what PyTorch says is for people


def trained(model=None):
    model = model or nn.Linear(32, 32)
    return model, torch.optim.SGD(model.parameters(), lr=0.1)


def loss_of(y):
    return y.float().pow(2).mean()


# ---- regions that are off, or for another device


def c44():
    model = nn.Linear(32, 32)
    for _ in range(2):
        with torch.autocast("cuda"):  # finds: region-disabled-silently
            model(rows())


def c44_old_spelling():
    model = nn.Linear(32, 32)
    with torch.cuda.amp.autocast():  # finds: region-disabled-silently
        model(rows())


def c44_decorator():
    model = nn.Linear(32, 32)

    @torch.autocast("cuda", dtype=torch.bfloat16, cache_enabled=True)
    def forward(x):
        return model(x)

    forward(rows())  # finds: region-disabled-silently


def c44n_switched_off():
    model = nn.Linear(32, 32)
    with torch.autocast("cuda", enabled=False):
        model(rows())
    with torch.autocast("cuda", enabled=torch.cuda.is_available(), dtype=torch.float16):
        model(rows())
    with torch.autocast("cuda", torch.float32, False):
        model(rows())
    with torch.cuda.amp.autocast(enabled=0):
        model(rows())


def c44n_both_devices():
    model = nn.Linear(32, 32)
    with torch.autocast("cuda"), region():
        model(rows())


def c45():
    model = nn.Linear(32, 32)
    with torch.autocast("cpu", dtype=torch.float32):  # finds: region-disabled-silently
        model(rows())


def c45_object_used_later():
    model = nn.Linear(32, 32)
    context = torch.autocast("cpu", dtype=torch.float64)
    del [torch.autocast("cpu", enabled=False) for _ in range(100)][:]
    for _ in range(2):
        with context:  # finds: region-disabled-silently
            model(rows())


def c45n_switched_off():
    model = nn.Linear(32, 32)
    for dtype in (torch.float32, torch.bfloat16):
        with torch.autocast("cpu", dtype=dtype, enabled=dtype != torch.float32):
            model(rows())
    with torch.autocast("cpu", dtype=torch.float32, enabled=False, cache_enabled=False):
        model(rows())


def c45n_many_objects():
    # Objects come and go at the same addresses.
    model = nn.Linear(32, 32)
    for i in range(300):
        torch.autocast("cpu", dtype=torch.float32)
        with torch.autocast("cpu", enabled=False):
            i % 100 or model(rows())


class Wrapped(nn.Module):
    def __init__(self, device="cuda"):
        super().__init__()
        self.model, self.device = nn.Linear(32, 32), device

    def forward(self, x):
        with torch.autocast(self.device or x.device.type):
            return self.model(x)


def c46():
    class WrappedForCuda(nn.Module):
        def __init__(self, device="cuda"):
            super().__init__()
            self.model, self.device = nn.Linear(32, 32), device

        def forward(self, x):
            with torch.autocast(self.device):  # finds: region-disabled-silently
                return self.model(x)

    WrappedForCuda()(rows())


def c46n_device_of_the_input():
    Wrapped(device=None)(rows())


def c46b():
    model = nn.Linear(32, 32)
    with torch.autocast("xpu"):  # finds: region-wrong-device
        model(rows())


def c46b_others():
    model = nn.Linear(32, 32)
    for device in ("mps", "hpu", "mtia", "xla"):
        with torch.autocast(device, dtype=torch.bfloat16):  # finds: region-wrong-device
            F.relu(model(rows()))


def c46bn_right_device_in_it():
    model = nn.Linear(32, 32)
    with torch.autocast("xpu"), region():
        model(rows())
    with region(), torch.autocast("xpu"):
        model(rows())


def c46bn_disabled():
    model = nn.Linear(32, 32)
    with torch.autocast("xpu", enabled=False):
        model(rows())


def c46bn_nothing_to_cast():
    with torch.autocast("xpu"):
        torch.stack([rows(), rows()]).relu().softmax(-1)


def s12n_switch():
    model, amp = nn.Linear(32, 32), False
    for _ in range(3):
        with region(enabled=amp):
            loss = loss_of(model(rows()))
        loss.backward()


def s13():
    model = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32))
    with torch.autocast("mtia"):  # finds: region-wrong-device
        loss = loss_of(model(rows()))
    loss.backward()


def s14n_census():
    model = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32), nn.Softmax(-1))
    with region():
        model(rows())


# ---- threads


def c47():
    model = nn.Linear(32, 32)

    def work():
        model(rows())  # finds: thread-lost-region
        model(rows())

    with region():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()


def c47_pool():
    model = nn.Sequential(nn.Linear(32, 32), nn.Conv1d(2, 2, 3))

    def work(x):
        return model(x)  # finds: thread-lost-region

    with concurrent.futures.ThreadPoolExecutor(2) as pool, torch.no_grad(), region():
        list(pool.map(work, [rows() for _ in range(4)]))


def c47_in_training():
    model, optimizer = trained()
    outputs = []

    def work(x):
        outputs.append(torch.mm(x, torch.ones(32, 32)))  # finds: thread-lost-region

    for _ in range(3):
        with region():
            thread = threading.Thread(target=work, args=(rows(),))
            thread.start()
            thread.join()
            loss = loss_of(model(rows())) + outputs.pop().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def c47_target_is_the_model():
    model = nn.Linear(32, 32)
    with region():  # finds: thread-lost-region
        thread = threading.Thread(target=model, args=(rows(),))
        thread.start()
        thread.join()


def c47n_own_region():
    model = nn.Linear(32, 32)

    def work():
        with region():
            model(rows())

    @region()
    def decorated():
        model(rows())

    with region():
        for target in (work, decorated):
            thread = threading.Thread(target=target)
            thread.start()
            thread.join()


def c47n_says_float32():
    model = nn.Linear(32, 32)

    def work():
        with region(enabled=False):
            model(rows())

    with region():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()


def c47n_helpers():
    def work():
        batch = torch.stack([rows() for _ in range(4)])
        F.layer_norm(batch, (32,)).clamp(-1, 1).sum()

    with region():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()


def c47n_loader():
    data = torch.utils.data.TensorDataset(torch.randn(16, 32))
    model, optimizer = trained()
    for (x,) in torch.utils.data.DataLoader(data, batch_size=4, num_workers=1):
        with region():
            loss = loss_of(model(x))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def c47n_a_thread_of_its_own():
    # It evaluates in float32, whatever the others do: inside their regions and outside.
    model, weight, go, done = nn.Linear(32, 32), torch.randn(32, 32), threading.Semaphore(0), threading.Semaphore(0)

    def evaluate():
        for _ in range(6):
            go.acquire()
            rows() @ weight
            done.release()

    def let_evaluate():
        go.release()
        done.acquire()

    thread = threading.Thread(target=evaluate)
    thread.start()
    for _ in range(3):
        with region():
            model(rows())
            let_evaluate()
        let_evaluate()
    thread.join()


def c47n_no_region_at_all():
    model = nn.Linear(32, 32)
    thread = threading.Thread(target=lambda: model(rows()))
    thread.start()
    thread.join()
    with region(enabled=False):
        thread = threading.Thread(target=lambda: model(rows()))
        thread.start()
        thread.join()


class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        return grad @ weight.t(), x.t() @ grad


class DecoratedProduct(Product):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu")
    def forward(ctx, x, weight):
        return Product.forward(ctx, x, weight)


def c48n_backward_in_another_thread():
    weight = nn.Parameter(torch.randn(32, 32))
    with region(torch.float16):
        loss = loss_of(rows() @ weight)
    thread = threading.Thread(target=loss.backward)
    thread.start()
    thread.join()


def c48n_deep_reentrant_backward():
    model = nn.Linear(32, 32)

    def deep(x, depth):
        if depth == 0:
            return model(x)
        return torch.utils.checkpoint.checkpoint(deep, x, depth - 1, use_reentrant=True)

    with region(torch.float16):
        loss = loss_of(deep(rows().requires_grad_(), 70))
    loss.backward()


# ---- regions around too much


def s07():
    model, optimizer = trained()
    with region():  # finds: region-spans-steps
        for _ in range(4):
            optimizer.zero_grad()
            loss_of(model(rows())).backward()
            optimizer.step()


def s07_decorated_epoch():
    model, optimizer = trained()

    @region()
    def epoch():
        for _ in range(4):
            optimizer.zero_grad()
            loss_of(model(rows())).backward()
            optimizer.step()

    epoch()  # finds: region-spans-steps


def s07_in_an_exit_stack():
    model, optimizer = trained()
    with contextlib.ExitStack() as stack:
        stack.enter_context(region())  # finds: region-spans-steps
        for _ in range(3):
            optimizer.zero_grad()
            loss = loss_of(model(rows()))
            loss.backward()
            optimizer.step()


def s07n_many_forward_passes():
    model, optimizer = trained()
    with region():
        loss = sum(loss_of(model(rows())) for _ in range(8))
    loss.backward()
    optimizer.step()


def s07n_a_region_per_step():
    model, optimizer = trained(nn.Sequential(nn.Linear(32, 32), nn.LayerNorm(32), nn.Linear(32, 32)))
    for _ in range(4):
        optimizer.zero_grad()
        with region():
            y = model(rows())
            loss = F.mse_loss(y.float(), torch.zeros_like(y, dtype=torch.float32))
        loss.backward()
        optimizer.step()


def s07n_accumulation_and_evaluation():
    model, optimizer = trained()
    for _ in range(3):
        for _ in range(2):
            with region():
                loss = loss_of(model(rows())) / 2
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        model.eval()
        with torch.no_grad(), region():
            for _ in range(3):
                model(rows())
        model.train()


def s07n_region_off():
    model, optimizer = trained()
    with region(enabled=False):
        for _ in range(3):
            optimizer.zero_grad()
            loss_of(model(rows())).backward()
            optimizer.step()


def s08():
    weight = nn.Parameter(torch.randn(32, 32))

    class Plain(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return x.mul(2)

        @staticmethod
        def backward(ctx, grad):
            x, w = ctx.saved_tensors
            return grad * 2, x.t() @ grad

    for _ in range(3):
        with region():
            loss = loss_of(Plain.apply(rows().requires_grad_(), weight))
            loss.backward()  # finds: region-contains-backward
        weight.grad = None


def s08_plain_model():
    model, optimizer = trained()
    for _ in range(3):
        optimizer.zero_grad()
        with region():
            loss = loss_of(model(rows()))
            torch.autograd.backward(loss)  # finds: region-contains-backward
        optimizer.step()


def s08_in_a_function():
    model, optimizer = trained()

    def finish(loss):
        loss.backward()  # finds: region-contains-backward
        optimizer.step()
        optimizer.zero_grad()

    for _ in range(3):
        with region():
            finish(loss_of(model(rows())))


def s08n_after_the_region():
    model, optimizer = trained()
    for _ in range(3):
        with region():
            loss = loss_of(model(rows()))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def s08n_decorated_function():
    weight = nn.Parameter(torch.randn(32, 32))
    with region():
        loss = loss_of(DecoratedProduct.apply(rows(), weight))
    loss.backward()


def s08n_forces():
    # A gradient that is part of the forward pass.
    model, optimizer = trained()
    for _ in range(2):
        x = rows().requires_grad_()
        with region():
            energy = model(x).float().sum()
            (forces,) = torch.autograd.grad(energy, x, create_graph=True)
        loss_of(forces).backward()
        optimizer.step()


def s08n_checkpointing():
    model, optimizer = trained()
    for reentrant in (True, False):
        with region():
            y = torch.utils.checkpoint.checkpoint(model, rows().requires_grad_(), use_reentrant=reentrant)
            loss = loss_of(y)
        loss.backward()
        optimizer.step()


def s08n_gradient_penalty():
    model, optimizer = trained()
    with region():
        loss = loss_of(model(rows()))
    gradients = torch.autograd.grad(loss, model.parameters(), create_graph=True)
    with region():
        penalty = sum(g.float().pow(2).sum() for g in gradients)
        loss = loss + penalty
    loss.backward()
    optimizer.step()


# ---- regions that cover nothing


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


# ---- await and yield


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


# ---- regions that are never left


def x06():
    model, context = nn.Linear(32, 32), region()
    context.__enter__()  # finds: region-never-closed
    context.__enter__()
    model(rows())
    context.__exit__(None, None, None)


def x06_in_a_thread():
    model = nn.Linear(32, 32)

    def work():
        region().__enter__()  # finds: region-never-closed
        model(rows())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def x06n_balanced():
    model, context = nn.Linear(32, 32), region()
    context.__enter__()
    context.__enter__()
    model(rows())
    context.__exit__(None, None, None)
    context.__exit__(None, None, None)


def x06n_ends_inside():
    model = nn.Linear(32, 32)
    with region():
        model(rows())
        os._exit(0)


def x06n_errors():
    model = nn.Linear(32, 32)
    for _ in range(3):
        with contextlib.suppress(ValueError), region():
            model(rows())
            raise ValueError


def x06n_daemon():
    model, begun = nn.Linear(32, 32), threading.Event()

    def serve():
        with region():
            model(rows())
            begun.set()
            threading.Event().wait()

    threading.Thread(target=serve, daemon=True).start()
    begun.wait()


if __name__ == "__main__":
    main(globals())
