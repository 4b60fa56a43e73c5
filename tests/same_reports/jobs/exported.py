"""torch.export of a module with a region of its own and under one around it; the first program is left in a file."""

import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = torch.nn.Linear(16, 16), torch.nn.Linear(16, 4)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            x = torch.relu(self.body(x))
            x = torch.softmax(x, -1)
        return self.head(x.float())


torch.manual_seed(0)
torch.set_num_threads(1)
net, x = Net().eval(), torch.randn(3, 16, generator=torch.Generator().manual_seed(1))
with torch.no_grad():
    program = torch.export.export(net, (x,))
    torch.export.save(program, "model.pt2")
    module = program.module()
    print("exported", module(x).sum().item().hex())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        outside = torch.export.export(net.head, (x,)).module()
        print("in a region", outside(x).float().sum().item().hex())
    for _ in range(3):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            print("eager beside it", net(x).float().sum().item().hex())
            print("exported in a region", module(x).float().sum().item().hex())
