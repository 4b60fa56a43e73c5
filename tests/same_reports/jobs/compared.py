"""For `castscope compare`: two functions that compute in other precisions in some modes than in eager."""

import torch

import castscope

torch.manual_seed(0)
torch.set_num_threads(1)
body, head = torch.nn.Linear(16, 16), torch.nn.Linear(16, 4)


def inputs():
    return (torch.randn(3, 16, generator=torch.Generator().manual_seed(1)),)


class Inside(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = body, head

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            x = torch.softmax(self.body(x), -1)
            return self.head(x) @ self.head.weight


@castscope.entry(inputs=inputs)
def outside(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return torch.cat([head(body(x)), x[:, :4]], 1).sum()


castscope.entry(inputs=inputs)(Inside())
