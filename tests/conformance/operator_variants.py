"""The arguments of a generated call: dtypes, gradients, parameters; and what is written down about its results."""

import contextlib
import dataclasses
import hashlib

import torch
from generated_calls import Call

LOW = {"bf16": torch.bfloat16, "fp16": torch.float16}


def region(key, low, *, enabled=True, cache_enabled=True):
    if key == "cpu":
        return torch.autocast(key, dtype=low, enabled=enabled, cache_enabled=cache_enabled)
    return region_of_absent_device(key, low, enabled)


@contextlib.contextmanager
def region_of_absent_device(key, low, enabled):
    """Does what `torch.autocast` does where the device exists. Where it does not, that would switch itself off."""
    torch.set_autocast_dtype(key, low)
    torch.set_autocast_enabled(key, enabled)
    torch.autocast_increment_nesting()
    try:
        yield
    finally:
        if torch.autocast_decrement_nesting() == 0:
            torch.clear_autocast_cache()
        torch.set_autocast_enabled(key, False)


@dataclasses.dataclass
class Item:
    """A call with tensors of certain dtypes. times: how often it is made in one region, so that a cache is of use."""

    call: Call
    variant: str
    tensors: list
    times: int = 1

    def inputs(self):
        return [tensor for tensor in self.tensors if tensor.requires_grad]


def cast(call, dtype_of):
    """Copies. dtype_of: floating-point argument's place among all arguments → dtype, or None for float32."""
    return [tensor.to(dtype_of(index) or torch.float32, copy=True) if index in call.floats() else tensor.clone()
            for index, tensor in enumerate(call.tensors)]


def trained(call):
    return [index for index in call.floats() if index not in call.constant]


def with_gradients(call, low):
    tensors = cast(call, lambda index: None)
    return [tensor.requires_grad_(index in trained(call)) for index, tensor in enumerate(tensors)]


def parameters(call, low):
    """As in a network: the first argument comes from a layer before, in lower precision; what follows is trained."""
    first, *others = trained(call)
    weights = others or [first]
    tensors = cast(call, lambda index: None if index in weights else low if index == first else None)
    return [torch.nn.Parameter(tensor) if index in weights else tensor for index, tensor in enumerate(tensors)]


VARIANTS = {
    "float32": lambda call, low: cast(call, lambda index: None),
    "first low": lambda call, low: cast(call, lambda index: low if index == call.floats()[0] else None),
    "last low": lambda call, low: cast(call, lambda index: low if index == call.floats()[-1] else None),
    "all low": lambda call, low: cast(call, lambda index: low),
    "float64": lambda call, low: cast(call, lambda index: torch.float64),
    "gradients": with_gradients,
    "parameters": parameters,
}


def item(call, variant, low):
    return Item(call, variant, VARIANTS[variant](call, LOW[low]), times=2 if variant == "parameters" else 1)


def flat(results):
    if isinstance(results, (tuple, list)):
        return [one for result in results for one in flat(result)]
    return [results]


def ramp(tensor):
    """Values to go backward with that are not the same everywhere."""
    return torch.linspace(0.5, 1.5, tensor.numel()).reshape(tensor.shape).to(tensor.dtype)


def gradients(results, inputs):
    """None where nothing can be differentiated. By `backward`, as reentrant checkpoints want it."""
    results = [one for one in flat(results) if isinstance(one, torch.Tensor) and one.requires_grad]
    if not inputs or not results:
        return None
    for one in inputs:
        one.grad = None
    torch.autograd.backward(results, [ramp(one) for one in results])
    return [one.grad for one in inputs]


def bits(tensor):
    """Layout and values. A conjugate or negative bit is how complex results are often held."""
    data = tensor.detach().resolve_conj().resolve_neg().contiguous().flatten().view(torch.uint8).numpy().tobytes()
    return hashlib.sha256(repr((tensor.shape, tensor.stride(), data)).encode()).hexdigest()[:12]


def said(results, of_inputs=None, *, of=bits):
    """"bfloat16 3fd0ff4bd62d; gradients float32 77ac09b1e4d2 none". Two calls that say the same gave the same bits."""
    def one(value):
        if not isinstance(value, torch.Tensor):
            return "none" if value is None else str(value)
        return f"{str(value.dtype).removeprefix('torch.')} {of(value)}".strip()

    text = " ".join(one(value) for value in flat(results))
    return text if of_inputs is None else text + "; gradients " + " ".join(one(value) for value in of_inputs)


def failure(error):
    """Its first line, without what differs from one process to the next."""
    lines = str(error).strip().splitlines() or [""]
    line = lines[-1] if "TorchScript interpreter" in lines[0] else lines[0]
    return f"{type(error).__name__}: {line[:200]}"
