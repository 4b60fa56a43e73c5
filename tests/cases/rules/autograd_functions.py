"""Own autograd Functions: what users write, one function a case. See apart.py."""

import contextlib

import torch
import torch.nn.functional as F
from apart import main, region, rows
from torch import nn
from torch.amp import custom_bwd, custom_fwd


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


def c49_products_of_a_list():
    class Heads(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return torch.einsum("bhd,hde->bhe", x, w)

        @staticmethod
        def backward(ctx, grad):
            x, w = ctx.saved_tensors
            grad = grad.to(x.dtype)
            of_x = torch.einsum("bhe,hde->bhd", grad, w)  # finds: autograd-fn-undecorated
            return of_x, torch.einsum("bhd,bhe->hde", x, grad)

    backward_of(Heads.apply, torch.randn(4, 2, 8), weight(2, 8, 8))


def c49_backward_raises():
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return x @ w

        @staticmethod
        def backward(ctx, grad):
            x, w = ctx.saved_tensors
            return grad @ w.t(), x.t() @ grad  # finds: autograd-fn-undecorated

    with contextlib.suppress(RuntimeError):
        backward_of(Product.apply, rows(), weight())


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


if __name__ == "__main__":
    main(globals())
