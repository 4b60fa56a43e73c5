"""Tensors that are not plain memory, one kind a run: `odd_tensors.py nested`."""

import sys

import torch
import workload
from torch.utils._python_dispatch import TorchDispatchMode

workload.start()


def matrix():
    return torch.randn(4, 4)


def nested():
    rows = torch.nested.nested_tensor([torch.randn(2, 4), torch.randn(3, 4)])
    print(rows.to(torch.bfloat16).dtype)
    layer = torch.nn.Linear(4, 4)
    with workload.bf16():
        print(layer(rows).dtype)


def jagged():
    rows = torch.nested.nested_tensor([torch.randn(2, 4), torch.randn(3, 4)], layout=torch.jagged)
    print(rows.to(torch.bfloat16).dtype)
    layer = torch.nn.Linear(4, 4)
    with workload.bf16():
        print(layer(rows).dtype)


def sparse():
    size = 30000
    indices = torch.arange(10).repeat(2, 1)
    coo = torch.sparse_coo_tensor(indices, torch.ones(10), (size, size))
    csr = matrix().relu().add(1).to_sparse_csr()  # nowhere zero
    with workload.bf16():
        print(torch.mm(coo, torch.randn(size, 1)).dtype)
        try:
            torch.mm(csr, matrix())
        except NotImplementedError:  # not every build multiplies them; both are cast before that
            pass


def meta():
    print(torch.empty(4, 4, device="meta").half().dtype)


def mkldnn():
    print(torch.randn(3, 4).to_mkldnn().to_dense(torch.bfloat16).dtype)
    with workload.bf16():
        print(torch.mm(matrix(), matrix()).dtype)


def inference():
    with torch.inference_mode(), workload.bf16():
        print(torch.mm(matrix(), matrix()).dtype)


def wrapper():
    from torch.testing._internal.two_tensor import TwoTensor
    weight = torch.nn.Parameter(TwoTensor(matrix(), matrix()))
    with workload.bf16():
        print(torch.mm(weight, TwoTensor(matrix(), matrix())).dtype)


def sizes_from_python():
    class Sized(torch.Tensor):
        asked = 0

        @staticmethod
        def __new__(cls, inner):
            return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype,
                                                       dispatch_sizes_strides_policy="sizes")

        def __init__(self, inner):
            self.inner = inner

        @classmethod
        def __torch_dispatch__(cls, operator, types, args=(), kwargs=None):
            if "size" in str(operator) or "stride" in str(operator) or "numel" in str(operator):
                cls.asked += 1
                return getattr(args[0].inner, "stride" if "stride" in str(operator) else "size")()
            bare = [arg.inner if isinstance(arg, cls) else arg for arg in args]
            return cls(operator(*bare, **(kwargs or {})))

    with workload.bf16(), torch.no_grad():
        torch.mm(Sized(matrix()), Sized(matrix()))
    print("asked", Sized.asked)


def grad_of(call):
    """torch.func's wrappers around what the compiler traces with; and three calls of what it made."""
    weight = matrix()

    @torch.compile(backend="eager")
    def compiled(x):
        with workload.bf16():
            return call(lambda a: (a @ weight).sum(), x)

    x = torch.randn(3, 4)
    for _ in range(3):
        print(compiled(x).dtype)


def functional_grad():
    grad_of(lambda loss, x: torch.func.grad(loss)(x))


def functional_jvp():
    from torch._subclasses.fake_tensor import FakeTensorMode
    with FakeTensorMode():
        layer, x = torch.nn.Linear(4, 4), torch.randn(2, 4)
        with workload.bf16():
            print(torch.func.jvp(layer, (x,), (x,))[0].dtype)
    with workload.bf16():
        print(torch.mm(matrix(), matrix()).dtype)


def compiled_wrapper():
    from torch.testing._internal.two_tensor import TwoTensor
    x, weight = TwoTensor(matrix(), matrix()), TwoTensor(matrix(), matrix())

    @torch.compile(backend="aot_eager")
    def compiled(x):
        with workload.bf16():
            return torch.mm(x, weight)

    for _ in range(3):
        print(compiled(x).dtype)


class Watch(TorchDispatchMode):
    """Makes a conversion of its own out of each bfloat16 result, the casts of autocast among them."""

    made = 0

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        result = operator(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor) and result.dtype == torch.bfloat16:
            Watch.made += 1
            result.float()
        return result


def watched():
    with Watch():
        with workload.bf16():
            torch.mm(matrix(), matrix())  # two casts, one product
        matrix().to(torch.bfloat16)
    print("made", Watch.made)


globals()[sys.argv[1]]()
