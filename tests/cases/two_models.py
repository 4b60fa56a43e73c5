"""Two networks of one class in use, and one made anew for each use."""

import torch
from torch import nn

torch.set_num_threads(1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)

    def forward(self, x):
        return self.body(x)


def use(net):
    with torch.autocast("cpu", torch.bfloat16):
        return net(torch.randn(2, 8))


generator, discriminator = Net(), Net()
for _ in range(3):
    use(discriminator)  # the first in use, whichever was made first
    use(generator)
    use(generator)
del generator
for _ in range(4):
    use(Net())
