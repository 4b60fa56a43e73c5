"""Errors about dtypes: what users write, one function a case. See apart.py."""

import contextlib

import torch
import torch.nn.functional as F
from apart import main, region, rows
from torch import nn


def raises(kind=RuntimeError):
    """The job goes on after the error, like a job that catches it."""
    return contextlib.suppress(kind)


def c38():
    table, index = torch.zeros(4, 32), torch.zeros(2, 32, dtype=torch.int64)
    layer = nn.Linear(32, 32)
    with region():
        h = layer(rows())
        with raises():
            torch.scatter_add(table, 0, index, h)  # finds: dtype-mismatch-error


def c38n_source_cast_first():
    table, index = torch.zeros(4, 32), torch.zeros(2, 32, dtype=torch.int64)
    layer = nn.Linear(32, 32)
    with region():
        torch.scatter_add(table, 0, index, layer(rows()).float())


def c39():
    out = torch.zeros(4, 32)
    layer = nn.Linear(32, 32)
    with region():
        h = layer(rows())
        with raises():
            out[torch.tensor([0, 2])] = h  # finds: dtype-mismatch-error


def c39_mask():
    out, layer = torch.zeros(4, 32), nn.Linear(32, 32)
    mask = torch.tensor([True, False, True, False])
    with region():
        h = layer(rows())
        with raises():
            out[mask] = h  # finds: dtype-mismatch-error


def c39n_slice():
    out, layer = torch.zeros(4, 32), nn.Linear(32, 32)
    with region():
        out[:2] = layer(rows())  # copy_ converts
        out[torch.tensor([0, 2])] = layer(rows()).float()


def c40():
    a, b = torch.randn(8, 32), torch.randn(2, 32, 16).bfloat16()
    ends = torch.tensor([4, 8], dtype=torch.int32)
    with region(), raises():
        torch._grouped_mm(a, b, offs=ends)  # finds: op-not-listed


def c40_fast_path_of_an_encoder():
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2).eval()
    x, padding = torch.randn(2, 6, 32), torch.zeros(2, 6, dtype=torch.bool)
    padding[:, 4:] = True
    with torch.inference_mode(), region(), raises():
        encoder(x, src_key_padding_mask=padding)  # finds: op-not-listed


def c40n_both():
    a, b = torch.randn(8, 32).bfloat16(), torch.randn(2, 32, 16).bfloat16()
    ends = torch.tensor([4, 8], dtype=torch.int32)
    with region():
        torch._grouped_mm(a, b, offs=ends)


def c41():
    first, last = nn.Linear(32, 32), nn.Linear(32, 32)
    with region():
        h = first(rows())
        with region(enabled=False), raises():
            last(h)  # finds: dtype-mismatch-error


def c41_weight_alone():
    first, weight = nn.Linear(32, 32), nn.Parameter(torch.randn(32, 32))
    with region():
        h = first(rows())
        with region(enabled=False), raises():
            h @ weight  # finds: dtype-mismatch-error


def c41_in_a_module():
    class Head(nn.Module):
        def __init__(self):
            super().__init__()
            self.out = nn.Linear(32, 4)

        def forward(self, x):
            with region(enabled=False):
                return self.out(x)  # finds: dtype-mismatch-error

    body, head = nn.Linear(32, 32), Head()
    with region(), raises():
        head(body(rows()))


def c41n_float_first():
    first, last = nn.Linear(32, 32), nn.Linear(32, 32)
    with region():
        h = first(rows())
        with region(enabled=False):
            last(h.float())


def c42n_the_built_in():
    q, k, v = torch.randn(1, 2, 8, 16), torch.randn(1, 2, 8, 16).bfloat16(), torch.randn(1, 2, 8, 16).bfloat16()
    with region():
        F.scaled_dot_product_attention(q, k, v)


@torch.library.custom_op("mylib::attend", mutates_args=())
def attend(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    return (q.float() * k.float()).to(q.dtype)


@torch.library.custom_op("mylib::checked", mutates_args=())
def checked(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    if q.dtype != k.dtype:
        raise RuntimeError(f"q is {q.dtype}, k is {k.dtype}")
    return q * k


@torch.library.custom_op("mylib::registered", mutates_args=())
def registered(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    return q * k


if hasattr(torch.library, "register_autocast"):  # not in PyTorch 2.4
    torch.library.register_autocast("mylib::registered", "cpu", torch.bfloat16)


def c42_an_attention_of_a_library():
    layer = nn.Linear(32, 32)
    with region():
        k = layer(rows())
        attend(rows(), k)  # finds: op-not-listed


def s38():
    layer, by = nn.Linear(32, 32), torch.randn(2, 32)
    with region():
        for _ in range(2):
            attend(layer(rows()), by)  # finds: op-not-listed


def s38_raises():
    layer, by = nn.Linear(32, 32), torch.randn(2, 32)
    with region():
        h = layer(rows())
        with raises():
            checked(h, by)  # finds: op-not-listed


def s38n_one_dtype():
    layer = nn.Linear(32, 32)
    with region():
        attend(layer(rows()), layer(rows()))
        checked(layer(rows()), layer(rows()))


def s38n_outside_a_region():
    attend(rows().bfloat16(), rows())


def s38n_registered():
    layer, by = nn.Linear(32, 32), torch.randn(2, 32)
    with region():
        registered(layer(rows()), by)


def c43n_on_a_cpu():
    layer = nn.Linear(32, 1)
    with region():
        p = torch.sigmoid(layer(rows()))
        F.binary_cross_entropy(p, torch.ones(2, 1))


def c43n_with_logits():
    layer = nn.Linear(32, 1)
    with region():
        F.binary_cross_entropy_with_logits(layer(rows()), torch.ones(2, 1))


def c43_fake_gpu():
    from torch._subclasses.fake_tensor import FakeTensorMode
    with FakeTensorMode():
        p, target = torch.rand(2, 1, device="cuda"), torch.ones(2, 1, device="cuda")
        torch.set_autocast_enabled("cuda", True)
        with raises():
            F.binary_cross_entropy(p, target)  # finds: op-banned
        torch.set_autocast_enabled("cuda", False)
        torch.clear_autocast_cache()


def s18():
    layer, head = nn.Linear(32, 32), nn.Linear(32, 4)
    with region():
        h = layer(rows())
    with raises():
        head(h)  # finds: dtype-mismatch-error


def s18_loss_weight():
    layer, weight = nn.Linear(32, 4), torch.ones(4)
    with region():
        h = layer(rows())
    with raises():
        F.cross_entropy(h, torch.zeros(2, dtype=torch.int64), weight=weight)  # finds: dtype-mismatch-error


def s18_conv():
    first, second = nn.Conv2d(1, 2, 3), nn.Conv2d(2, 2, 3)
    with region():
        h = first(torch.randn(1, 1, 8, 8))
    with raises():
        second(h)  # finds: dtype-mismatch-error


def s18_conv_without_bias():
    first, second = nn.Conv2d(1, 2, 3, bias=False), nn.Conv2d(2, 2, 3, bias=False)
    with region():
        h = first(torch.randn(1, 1, 8, 8))
    with raises():
        second(h)  # finds: dtype-mismatch-error


def s18_each_step():
    """The error is caught each time, in deep steps and others: this gives one finding."""
    layer, head = nn.Linear(32, 32), nn.Linear(32, 4)
    optimizer = torch.optim.SGD([*layer.parameters(), *head.parameters()], lr=0.1)
    for _ in range(8):
        with region():
            h = layer(rows())
        with raises():
            head(h).sum().backward()  # finds: dtype-mismatch-error
        h.float().sum().backward()
        optimizer.step()


def s18n_float_first():
    layer, head = nn.Linear(32, 32), nn.Linear(32, 4)
    with region():
        h = layer(rows())
    head(h.float())


def s18n_inside():
    layer, head = nn.Linear(32, 32), nn.Linear(32, 4)
    with region():
        head(layer(rows()))


def s19():
    weight = torch.randn(32, 32)
    with region(), raises():
        rows().double() @ weight  # finds: dtype-mismatch-error


def s19n_all_double():
    with region():
        rows().double() @ torch.randn(32, 32).double()


def x07():
    with region(), raises():
        torch.cat([rows().half(), rows().bfloat16()])  # finds: dtype-mixed-halves


def x07_stack():
    with region(), raises():
        torch.stack([rows().half(), rows().bfloat16()])  # finds: dtype-mixed-halves


def x07n_the_same_halves():
    with region():
        torch.cat([rows().bfloat16(), rows().bfloat16()])


def x07n_outside():
    torch.cat([rows().half(), rows().bfloat16()])


def x20n_other_errors():
    """Errors that have nothing to do with precision, or with dtypes that autocast does not handle."""
    layer = nn.Linear(32, 32)
    with region():
        layer(rows())
        with raises():
            layer(torch.randn(2, 5))
        with raises(IndexError):
            torch.zeros(3)[torch.randn(3)]
        with raises():
            F.embedding(torch.randn(3), torch.randn(4, 2))
        with raises(ValueError):
            F.nll_loss(torch.randn(2, 3), torch.zeros(5, dtype=torch.int64))
        with raises():
            torch.randn(2, 3).double().mm(torch.randn(3, 3).long())
    with raises():
        torch.randn(2, 3).double() @ torch.randn(3, 3)


def x21n_control_flow():
    """Thousands of exceptions a second, none of them an error."""
    layer = nn.Linear(32, 32)
    with region():
        layer(rows())
        for n in range(3000):
            with raises(ValueError):
                F.interpolate(torch.randn(1, 1, 4), size=n, scale_factor=2.0)
            with raises(ValueError):
                raise ValueError(f"expected scalar type BFloat16 but found Float {n}")


def x22n_rehearsed():
    """Tensors without values: PyTorch tries out on them what the job would do."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    layer = nn.Linear(32, 32)
    with region():
        layer(rows())
    with FakeTensorMode(), raises():
        torch.empty(2, 32, dtype=torch.bfloat16) @ torch.empty(32, 32)


def s18_in_backward():
    layer, sparse = nn.Linear(32, 32), torch.eye(4).to_sparse()
    with region():
        y = torch.sparse.mm(sparse, layer(rows(4)).float())
    with contextlib.suppress(RuntimeError):
        y.float().sum().backward()  # finds: dtype-mismatch-error


def s18n_in_backward_in_float32():
    layer, sparse = nn.Linear(32, 32), torch.eye(4).to_sparse()
    with region():
        h = layer(rows(4))
        with region(enabled=False):
            y = torch.sparse.mm(sparse, h.float())
    y.sum().backward()


@torch.jit.script
def transformed(a, b):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return torch.fft.fft(torch.mm(a, b))  # finds: dtype-mismatch-error


@torch.jit.script
def transformed_in_float32(a, b):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return torch.fft.fft(torch.mm(a, b).float())


def s18d_no_kernel_in_a_disabled_region():
    layer = nn.Linear(32, 32)
    with region():
        h = layer(rows())
        with region(enabled=False), raises():
            torch.fft.fft(h)  # finds: dtype-mismatch-error


def s18d2_no_kernel_in_the_region_of_a_script():
    with raises():
        transformed(rows(32), rows(32))  # the line of the script is marked


def s18dn_float32_given():
    layer = nn.Linear(32, 32)
    with region():
        h = layer(rows())
        with region(enabled=False):
            torch.fft.fft(h.float())
    transformed_in_float32(rows(32), rows(32))


if __name__ == "__main__":
    main(globals())
