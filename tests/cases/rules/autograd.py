"""Own autograd Functions and checkpoints: what users write, one function a case. See apart.py."""

import torch
import torch.nn.functional as F
from apart import in_threads, main, region, rows
from torch import nn
from torch.amp import custom_bwd, custom_fwd
from torch.utils.checkpoint import checkpoint


def weight(*size):
    return torch.randn(*(size or (32, 32)), requires_grad=True)


def backward_of(function, *inputs, **options):
    with region(**options):
        y = function(*inputs)
    y.float().sum().backward()


def c49():
    class Product(torch.autograd.Function):
        @staticmethod
        @custom_fwd(device_type="cpu")
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return x @ w

        @staticmethod
        @custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            x, w = ctx.saved_tensors
            return grad @ w.t(), x.t() @ grad

    for _ in range(3):
        backward_of(Product.apply, rows(), weight())
        backward_of(Product.apply, rows(), weight(), dtype=torch.float16)


def c49n_float_function():
    class Product(torch.autograd.Function):
        @staticmethod
        @custom_fwd(device_type="cpu", cast_inputs=torch.float32)
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return x @ w

        @staticmethod
        @custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            x, w = ctx.saved_tensors
            return grad @ w.t(), x.t() @ grad

    backward_of(Product.apply, rows(), weight())


def c49_backward_in_another_region():
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return (x @ w).float()

        @staticmethod
        def backward(ctx, grad):
            x, w = ctx.saved_tensors
            by = grad @ w.t()  # finds: autograd-fn-wrong-dtype
            return by, x.t() @ grad

    with region():
        y = Product.apply(rows(), weight())
    with region(torch.float16):
        y.sum().backward()  # finds: region-contains-backward


def c49n_backward_in_the_same_region():
    class Product(torch.autograd.Function):
        @staticmethod
        @custom_fwd(device_type="cpu")
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return (x @ w).float()

        @staticmethod
        @custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            x, w = ctx.saved_tensors
            return grad @ w.t(), x.t() @ grad

    with region():
        y = Product.apply(rows(), weight())
    y.sum().backward()


def c50():
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return x @ w

        @staticmethod
        def backward(ctx, grad):
            x, w = ctx.saved_tensors
            grad = grad.float()
            by = grad @ w.t()  # finds: autograd-fn-undecorated
            return by, x.t() @ grad

    backward_of(Product.apply, rows().requires_grad_(), weight())


def c50_float_result():
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return (x @ w).float()

        @staticmethod
        def backward(ctx, grad):
            x, w = ctx.saved_tensors
            return grad.mm(w.t()), x.t().mm(grad)  # finds: autograd-fn-undecorated

    for _ in range(3):
        backward_of(Product.apply, rows(), weight())


def c50_half_decorated():
    class Linear(torch.autograd.Function):
        @staticmethod
        @custom_fwd(device_type="cpu")
        def forward(ctx, x, w, b):
            ctx.save_for_backward(x, w)
            return F.linear(x, w, b)

        @staticmethod
        def backward(ctx, grad):
            x, w = ctx.saved_tensors
            grad = grad.to(w.dtype)
            into_x = grad.mm(w)  # finds: autograd-fn-undecorated
            return into_x, grad.t().mm(x), grad.sum(0)

    backward_of(Linear.apply, rows().requires_grad_(), weight(), weight(32))


def c50_inherited():
    class Base(torch.autograd.Function):
        @staticmethod
        def backward(ctx, grad):
            x, w = ctx.saved_tensors
            grad = grad.float()
            return torch.einsum("bo,io->bi", grad, w), x.t() @ grad  # finds: autograd-fn-undecorated

    class Product(Base):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return torch.einsum("bi,io->bo", x, w)

    backward_of(Product.apply, rows().requires_grad_(), weight())


def c50_setup_context():
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(x, w):
            return (x @ w).float()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, grad):
            return gradients(grad, *ctx.saved_tensors)

    def gradients(grad, x, w):
        by = grad @ w.t()  # finds: autograd-fn-undecorated
        return by, x.t() @ grad

    backward_of(Product.apply, rows(), weight())


def c50_in_a_model():
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return torch.matmul(x, w)

        @staticmethod
        def backward(ctx, grad):
            x, w = ctx.saved_tensors
            by = torch.matmul(grad.to(w.dtype), w.t())  # finds: autograd-fn-undecorated
            return by, torch.matmul(x.t().to(grad.dtype), grad)

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(32, 32) * 0.1)

        def forward(self, x):
            return Product.apply(x, self.weight)

    model = nn.Sequential(Layer(), nn.ReLU(), Layer())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(4):
        optimizer.zero_grad()
        backward_of(model, rows())
        optimizer.step()


def c50n_nothing_that_is_cast():
    class Swish(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * torch.sigmoid(x)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            s = torch.sigmoid(x)
            return grad * (s + x * s * (1 - s))

    layer = nn.Linear(32, 32)
    backward_of(lambda x: Swish.apply(layer(x)), rows())


def c50n_without_a_region():
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return x @ w

        @staticmethod
        def backward(ctx, grad):
            x, w = ctx.saved_tensors
            return grad @ w.t(), x.t() @ grad

    layer = nn.Linear(32, 32)
    with region():
        layer(rows())
    Product.apply(rows(), weight()).sum().backward()


def c50n_handles_dtypes_itself():
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            dtype = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else x.dtype
            x, w = x.to(dtype), w.to(dtype)
            ctx.save_for_backward(x, w)
            return x @ w

        @staticmethod
        def backward(ctx, grad):
            x, w = ctx.saved_tensors
            return grad @ w.t(), x.t() @ grad

    backward_of(Product.apply, rows(), weight())


def c50n_gradients_in_float_on_purpose():
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            x, w = x.bfloat16(), w.bfloat16()
            ctx.save_for_backward(x, w)
            return x @ w

        @staticmethod
        def backward(ctx, grad):
            x, w = ctx.saved_tensors
            grad = grad.float()
            return grad @ w.float().t(), x.float().t() @ grad

    backward_of(Product.apply, rows(), weight())


def c50n_trained_in_both():
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return (x @ w).float()

        @staticmethod
        def backward(ctx, grad):
            x, w = ctx.saved_tensors
            return grad @ w.t(), x.t() @ grad

    with torch.no_grad(), region():
        Product.apply(rows(), weight())
    Product.apply(rows().requires_grad_(), weight()).sum().backward()


def c51():
    block = nn.Sequential(nn.Linear(32, 32), nn.GELU(), nn.Linear(32, 32))
    for reentrant in (False, True):
        backward_of(lambda x, kind=reentrant: checkpoint(block, x, use_reentrant=kind), rows().requires_grad_())
    with region():
        y = checkpoint(block, rows().requires_grad_(), use_reentrant=False)
    with region(torch.float16):
        y.float().sum().backward()  # finds: region-contains-backward


class Checkpoint(torch.autograd.Function):
    """As it stands in many repositories."""

    @staticmethod
    def forward(ctx, run, x):
        ctx.run = run
        ctx.save_for_backward(x)
        with torch.no_grad():
            return run(x)

    @staticmethod
    def backward(ctx, grad):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            y = ctx.run(x)
        torch.autograd.backward(y, grad.to(y.dtype))
        return None, x.grad


def c51b_function():
    first, second = nn.Linear(32, 32), nn.Linear(32, 32)

    def block(x):
        h = first(x)  # finds: checkpoint-recompute-differs
        return second(F.gelu(h))

    for _ in range(3):
        backward_of(lambda x: Checkpoint.apply(block, x), rows().requires_grad_())


def c51b_module():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.up, self.down = nn.Linear(32, 64), nn.Linear(64, 32)

        def forward(self, x):
            h = self.up(x)  # finds: checkpoint-recompute-differs
            return x + self.down(F.gelu(h))

    block = Block()
    backward_of(lambda x: Checkpoint.apply(block, x), rows().requires_grad_())


def c51b_module_of_pytorch():
    class Recompute(torch.autograd.Function):
        @staticmethod
        def forward(ctx, run, x):
            ctx.run = run
            ctx.save_for_backward(x)
            return run(x)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            with torch.enable_grad():
                x = x.detach().requires_grad_()
                y = ctx.run(x)  # finds: checkpoint-recompute-differs
                (into_x,) = torch.autograd.grad(y, x, grad.to(y.dtype))
            return None, into_x

    layer = nn.Sequential(nn.Linear(32, 32), nn.GELU())
    backward_of(lambda x: Recompute.apply(layer, x), rows().requires_grad_())


def c51b_saved_tensor_hooks():
    layer = nn.Linear(32, 32)

    def hidden(x):
        return layer(x)  # finds: checkpoint-recompute-differs

    x = rows().requires_grad_()

    def unpack(_):
        with torch.enable_grad():
            return hidden(x).bfloat16()

    with region():
        h = hidden(x)
        with torch.autograd.graph.saved_tensors_hooks(lambda tensor: None, unpack):
            y = h.sigmoid()
    y.float().sum().backward()


def c51bn_region_entered_again():
    class Recompute(torch.autograd.Function):
        @staticmethod
        def forward(ctx, run, x):
            ctx.run = run
            ctx.on, ctx.dtype = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
            ctx.save_for_backward(x)
            with torch.no_grad():
                return run(x)

        @staticmethod
        def backward(ctx, grad):
            x = ctx.saved_tensors[0].detach().requires_grad_()
            with torch.enable_grad(), torch.autocast("cpu", enabled=ctx.on, dtype=ctx.dtype):
                y = ctx.run(x)
            torch.autograd.backward(y, grad)
            return None, x.grad

    layer = nn.Linear(32, 32)
    for dtype in (torch.bfloat16, torch.float16):
        backward_of(lambda x: Recompute.apply(layer, x), rows().requires_grad_(), dtype=dtype)


def c51bn_without_a_region():
    with region():
        nn.Linear(32, 8)(rows())
    layer = nn.Linear(32, 32)
    Checkpoint.apply(layer, rows().requires_grad_()).sum().backward()


def c51bn_checkpoints_in_threads():
    block = nn.Sequential(nn.Linear(32, 32), nn.GELU(), nn.Linear(32, 32))

    def work():
        backward_of(lambda x: checkpoint(block, x, use_reentrant=False), rows().requires_grad_(), cache_enabled=False)

    in_threads(work, 2)


def c51bn_gradient_penalty():
    layer = nn.Linear(32, 32)
    x = rows().requires_grad_()
    with region():
        y = layer(x).float().sum()
    (into_x,) = torch.autograd.grad(y, x, create_graph=True)
    into_x.square().sum().backward()


if __name__ == "__main__":
    main(globals())
