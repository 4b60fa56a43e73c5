"""Regions around too much, and those that are never left: what users write, one function a case. See apart.py."""

import contextlib
import os
import threading

import torch
import torch.nn.functional as F
from apart import loss_of, main, region, rows, trained
from castscope import amp
from torch import nn


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


def s07():
    model, optimizer = trained()
    with region():  # finds: region-spans-steps
        for _ in range(4):
            optimizer.zero_grad()
            loss_of(model(rows())).backward()  # finds: cache-stale-weight, region-contains-backward
            optimizer.step()


def s07_decorated_epoch():
    model, optimizer = trained()

    @region()
    def epoch():
        for _ in range(4):
            optimizer.zero_grad()
            loss_of(model(rows())).backward()  # finds: cache-stale-weight, region-contains-backward
            optimizer.step()

    epoch()  # finds: region-spans-steps


def s07_in_an_exit_stack():
    model, optimizer = trained()
    with contextlib.ExitStack() as stack:
        stack.enter_context(region())  # finds: region-spans-steps
        for _ in range(3):
            optimizer.zero_grad()
            loss = loss_of(model(rows()))  # finds: cache-stale-weight
            loss.backward()  # finds: region-contains-backward
            optimizer.step()


def s07_cleared_after_each_step():
    model, optimizer = trained()
    with region():  # finds: region-spans-steps
        for _ in range(6):
            optimizer.zero_grad()
            loss_of(model(rows())).backward()  # finds: region-contains-backward
            optimizer.step()
            torch.clear_autocast_cache()


def s07_handle_without_scale_loss():
    model, optimizer = trained()
    handle = amp.init(device_type="cpu", dtype=torch.bfloat16)  # finds: region-spans-steps
    for _ in range(6):
        optimizer.zero_grad()
        loss_of(model(rows())).backward()  # finds: region-contains-backward
        optimizer.step()
        handle._clear_cache()
    handle._deactivate()


def s07n_handle_with_scale_loss():
    model, optimizer = trained()
    handle = amp.init(device_type="cpu", dtype=torch.float16)
    for _ in range(4):
        optimizer.zero_grad()
        with handle.scale_loss(loss_of(model(rows())), optimizer) as scaled_loss:
            scaled_loss.backward()
        optimizer.step()
    handle._deactivate()


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
    while os.path.exists(f"/proc/self/task/{thread.native_id}"):  # join() returns before the thread has ended
        os.sched_yield()


def x06_entered_again_by_hand():
    """The region is left as often as it is entered, but the object remembers only what it found the second time."""
    model, context = nn.Linear(32, 32), region()
    context.__enter__()  # finds: region-never-closed
    context.__enter__()
    model(rows())
    context.__exit__(None, None, None)
    context.__exit__(None, None, None)


def x06_entered_again():
    first, second = nn.Linear(32, 32), nn.Linear(32, 32)
    optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
    context = region()
    for _ in range(3):
        optimizer.zero_grad()
        with context:  # finds: region-never-closed
            hidden = first(rows())
            with context:
                hidden = second(hidden)  # finds: cache-stale-weight
        assert torch.is_autocast_enabled("cpu")
        second(hidden.float()).pow(2).mean().backward()
        optimizer.step()


def x06_decorator_that_recurs():
    model = nn.Linear(32, 32)

    @region()
    def descend(x, depth):
        return descend(model(x), depth - 1) if depth else model(x)

    descend(rows(), 2)  # finds: region-never-closed
    assert torch.is_autocast_enabled("cpu")


def x06_stays_off():
    model, off = nn.Linear(32, 32), region(enabled=False)
    with region():
        model(rows())
        with off:  # finds: region-never-closed
            model(rows())
            with off:
                model(rows())
        assert model(rows()).dtype is torch.float32


def x06n_balanced():
    model, outer, inner = nn.Linear(32, 32), region(), region()
    outer.__enter__()
    inner.__enter__()
    model(rows())
    inner.__exit__(None, None, None)
    outer.__exit__(None, None, None)
    assert not torch.is_autocast_enabled("cpu")


def x06n_one_after_the_other():
    model, context = nn.Linear(32, 32), region()
    for _ in range(3):
        with context:
            model(rows())
    with region(), context:
        model(rows())
    assert not torch.is_autocast_enabled("cpu")


def x06n_it_was_on_before():
    model, context = nn.Linear(32, 32), region()
    torch.set_autocast_enabled("cpu", True)
    torch.set_autocast_dtype("cpu", torch.bfloat16)
    with context, context:
        model(rows())
    assert torch.is_autocast_enabled("cpu")
    torch.set_autocast_enabled("cpu", False)
    torch.clear_autocast_cache()


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
