"""backward() inside the region, so that autocast casts in backward too, double backward, and an own Function."""

import torch
import workload

workload.start()


class Scale(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu")
    def forward(ctx, value, weight):
        ctx.save_for_backward(value, weight)
        return value @ weight

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx, gradient):
        value, weight = ctx.saved_tensors
        return gradient @ weight.t(), value.t() @ gradient


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = workload.small_net(classes=32)
        self.weight = torch.nn.Parameter(torch.randn(32, 5) * 0.1)

    def forward(self, inputs):
        return Scale.apply(self.net(inputs), self.weight)


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for number, batch in enumerate(workload.small_batches(6)):
    optimizer.zero_grad()
    with workload.bf16():
        loss = workload.cross_entropy(model, batch)
        if number % 2:
            batch[0].requires_grad_()
            values = model.net(batch[0])
            (gradient,) = torch.autograd.grad(values.float().square().sum(), batch[0], create_graph=True)
            loss = loss + gradient.float().norm()
        loss.backward()
    optimizer.step()
    workload.say_loss(loss)
workload.finish(model)
