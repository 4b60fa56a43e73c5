"""Weights that are written in every way there is, between two autocast regions: is what is computed with them fresh?

written_weights.py frozen|trained WIDTH prints a JSON object: for each kind of write, whether the copy of the weight was
served without a cast before the write ("kept"), whether the result after it is that of the new weight ("fresh"), and
whether the copy was served again without one after that ("kept_again"). Casts are counted by PyTorch's own profiler.
"""

import ctypes
import io
import json
import os
import sys

import torch
from torch.nn.utils import parameters_to_vector, vector_to_parameters
from torch.profiler import ProfilerActivity, profile


class Weight(torch.nn.Module):
    def __init__(self, width, frozen):
        super().__init__()
        torch.manual_seed(1)
        self.weight = torch.nn.Parameter(torch.randn(width, width), requires_grad=not frozen)
        self.before = self.weight.data  # aliases from before the first cast
        self.view = self.weight.detach().view(-1)
        self.numpy = self.weight.detach().numpy()

    def forward(self, x):
        return torch.nn.functional.linear(x, self.weight)


def in_place(m):
    with torch.no_grad():
        m.weight.add_(1)


def data_assigned(m):
    m.weight.data = m.weight.data + 1


def data_in_place(m):
    m.weight.data.add_(1)


def numpy_view(m):
    m.weight.detach().numpy()[:] += 1


def vector(m):
    vector_to_parameters(parameters_to_vector(m.parameters()) + 1, m.parameters())


def optimizer(name, **options):
    def step(m):
        m.weight.grad = torch.ones_like(m.weight)
        getattr(torch.optim, name)([m.weight], lr=1.0, **options).step()
        m.weight.grad = None

    return step


def old_data(m):
    m.before.add_(1)


def old_view(m):
    m.view.mul_(2)


def old_numpy(m):
    m.numpy *= 2


def state_dict(m):
    m.load_state_dict({"weight": m.weight.detach() + 1})


def state_dict_assigned(m):
    m.load_state_dict({"weight": torch.nn.Parameter(m.weight.detach() + 1, requires_grad=m.weight.requires_grad)},
                      assign=True)


def one_element(m):
    m.numpy[3, 5] += 100


def one_row(m):
    m.before[7] += 1


def raw_pointer(m):
    other = m.weight.detach() + 1
    ctypes.memmove(m.weight.data_ptr(), other.data_ptr(), m.weight.numel() * 4)


def raw_element(m):
    ctypes.c_float.from_address(m.weight.data_ptr() + 4 * 130).value = 1000.0


def storage(m):
    m.weight.untyped_storage().copy_((m.weight.detach() + 1).untyped_storage())


def dlpack(m):
    torch.from_dlpack(m.weight.detach()).add_(1)


def fused_call(m):
    torch._fused_sgd_([m.weight.data], [torch.ones_like(m.weight)], [], weight_decay=0.0, momentum=0.0, lr=1.0,
                      dampening=0.0, nesterov=False, maximize=False, is_first_step=True)


def swapped(m):
    torch.utils.swap_tensors(m.weight, torch.nn.Parameter(m.weight.detach() + 1, requires_grad=m.weight.requires_grad))


def read_into(m):
    values = (m.weight.detach() + 1).numpy().tobytes()
    reader, writer = os.pipe()
    view = memoryview(m.numpy).cast("B")
    for at in range(0, len(values), 4096):
        os.write(writer, values[at:at + 4096])
        io.FileIO(reader, closefd=False).readinto(view[at:at + 4096])
    os.close(reader), os.close(writer)


WRITES = {"in_place": in_place, "data_assigned": data_assigned, "data_in_place": data_in_place,
          "numpy_view": numpy_view, "vector_to_parameters": vector, "sgd": optimizer("SGD"),
          "fused_adam": optimizer("Adam", fused=True), "fused_sgd": optimizer("SGD", fused=True),
          "old_data": old_data, "old_view": old_view, "old_numpy": old_numpy, "state_dict": state_dict,
          "state_dict_assigned": state_dict_assigned, "one_element": one_element, "one_row": one_row,
          "raw_pointer": raw_pointer, "raw_element": raw_element, "storage": storage, "dlpack": dlpack,
          "fused_call": fused_call, "swapped": swapped, "read_into": read_into}


def run(m, x):
    """The result, and whether the weight was cast. The input always is."""
    with profile(activities=[ProfilerActivity.CPU], acc_events=True) as seen:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = m(x)
    casts = sum(event.count for event in seen.key_averages() if event.key in ("aten::_to_copy", "aten::copy_"))
    return y.detach(), casts > alone(x)


def alone(x):
    with profile(activities=[ProfilerActivity.CPU], acc_events=True) as seen:
        x.to(torch.bfloat16)
    return sum(event.count for event in seen.key_averages() if event.key in ("aten::_to_copy", "aten::copy_"))


def expected(m, x):
    return torch.nn.functional.linear(x.bfloat16(), m.weight.detach().bfloat16())


def main(frozen, width):
    x = torch.ones(2, width)
    told = {}
    for name, write in WRITES.items():
        if frozen and name in ("sgd", "fused_adam", "fused_sgd"):
            continue
        m = Weight(width, frozen)
        for _ in range(24):  # enough for it to be worth keeping
            y, cast = run(m, x)
        kept = not cast and torch.equal(y, expected(m, x))
        write(m)
        y, _ = run(m, x)
        fresh = torch.equal(y, expected(m, x))
        for _ in range(24):  # enough for it to be worth keeping
            y, cast = run(m, x)
        told[name] = {"kept": kept, "fresh": fresh and torch.equal(y, expected(m, x)), "kept_again": not cast}
    print(json.dumps(told))


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(sys.argv[1] == "frozen", int(sys.argv[2]))
