"""Casts whose every property is known. test_sites.py reads the expectations in the comments:

    # OPERATOR.ARGUMENT ROLE FROM>TO CASTS/HITS WHY [MODULE]

of the line that they stand on; several are separated by semicolons. "-" for WHY: kept, or served from the cache.
Lines without a mark may cast as well; they are not looked at.
"""

import torch
import torch.nn.functional as F
import workload

workload.start()


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(4, 8)
        self.down = torch.nn.Linear(8, 4, bias=False)
        self.register_buffer("scale", torch.randn(4, 4))

    def forward(self, x):
        h = self.up(x)  # linear.input input float32>bfloat16 2/0 no_requires_grad blocks.0.up; linear.weight weight float32>bfloat16 1/1 - blocks.0.up; linear.bias weight float32>bfloat16 1/1 - blocks.0.up
        h = self.down(F.relu(h))  # linear.weight weight float32>bfloat16 1/1 - blocks.0.down
        return h @ self.scale  # matmul.other buffer float32>bfloat16 2/0 no_requires_grad blocks.0


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList([Block()])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


net = Net()
frozen = torch.nn.Linear(4, 3).requires_grad_(False)
x = torch.randn(2, 4)
z = torch.randn(2, 4, requires_grad=True)
leaf_view = torch.randn(3, 8).detach()[:, :4].requires_grad_()
square, bias = torch.randn(4, 4, requires_grad=True), torch.randn(4, requires_grad=True)
low = torch.randn(4, 4, dtype=torch.bfloat16, requires_grad=True)

with workload.bf16():
    net(x)
    net(x)

with workload.bf16():
    frozen(x)  # linear.weight weight float32>bfloat16 1/0 no_requires_grad; linear.bias weight float32>bfloat16 1/0 no_requires_grad
    F.linear(x, leaf_view)  # linear.weight weight float32>bfloat16 1/0 view
    activation = torch.exp(z)
    activation @ low  # matmul.self activation float32>bfloat16 1/0 not_leaf
    loss = F.mse_loss(activation.bfloat16(), x)  # mse_loss.self activation bfloat16>float32 1/0 other_dtype

with workload.bf16():
    F.linear(x, square, bias)  # linear.weight weight float32>bfloat16 1/0 -; linear.bias weight float32>bfloat16 1/0 -
    x @ square  # matmul.other weight float32>bfloat16 0/1 -
    torch.addmm(bias, z, square)  # addmm.self weight float32>bfloat16 0/1 -; addmm.mat1 input float32>bfloat16 1/0 -; addmm.mat2 weight float32>bfloat16 0/1 -

with torch.autocast("cpu", dtype=torch.float16):
    low @ low  # matmul.self * bfloat16>float16 1/0 not_fp32; matmul.other * bfloat16>float16 1/0 not_fp32

with workload.bf16(cache_enabled=False):
    net.blocks[0].down(torch.zeros(1, 8))  # linear.weight weight float32>bfloat16 1/0 cache_disabled blocks.0.down

with torch.inference_mode(), workload.bf16():
    F.linear(x, net.blocks[0].down.weight.new_zeros(3, 4))
    for _ in range(3):
        net.blocks[0].down(torch.zeros(1, 8))  # linear.weight weight float32>bfloat16 3/0 inference_mode


class Turn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, value, weight):
        ctx.save_for_backward(weight)
        return value * 2

    @staticmethod
    def backward(ctx, gradient):
        (weight,) = ctx.saved_tensors
        return gradient.float() @ weight, None  # matmul.self gradient float32>bfloat16 1/0 no_requires_grad; matmul.other * float32>bfloat16 1/0 no_requires_grad


with workload.bf16():
    Turn.apply(z, torch.randn(4, 4)).sum().backward()
workload.finish(net)
