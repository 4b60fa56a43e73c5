"""The roles of tensors in their operators where their class or their base shows it, and who asked for a conversion."""

import torch
import workload

workload.start()


class Marked(torch.Tensor):
    pass


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(4, 4).as_subclass(Marked))  # its class is Marked
        self.register_buffer("table", torch.randn(8, 4))

    def forward(self, x):
        a = torch.mm(x, self.weight)  # weight
        b = torch.mm(x, self.table[:4])  # buffer
        c = torch.mm(x, self.table[4:].t())  # buffer
        d = torch.mm(x, x[:4])  # input
        return a, b, c, d


net, x = Net(), torch.randn(6, 4)
for with_grad in (True, False):
    with workload.bf16(), torch.set_grad_enabled(with_grad):
        print([y.dtype for y in net(x)[:3]])

half = torch.randn(2).half()
x.type_as(half)  # user_to
x.to(half)  # user_to
torch.ops.aten.to.dtype(x, torch.float16)  # user_to
torch.ops.aten.softmax.int(half, 0, torch.float32)  # operator
