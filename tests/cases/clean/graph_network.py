"""Messages along the edges of a graph, summed in float32; trained on some nodes, evaluated on others (PyG)."""

import torch
import torch.nn.functional as F
from torch import nn


class GraphConv(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.linear, self.own = nn.Linear(cin, cout, bias=False), nn.Linear(cin, cout)

    def forward(self, x, edges, norm):
        source, target = edges
        messages = self.linear(x)[source].float() * norm[:, None]
        summed = torch.zeros(len(x), messages.shape[-1]).index_add_(0, target, messages)
        return summed + self.own(x).float()


class Net(nn.Module):
    def __init__(self, features=24, width=32, classes=4):
        super().__init__()
        self.first, self.second = GraphConv(features, width), GraphConv(width, classes)

    def forward(self, x, edges):
        degree = torch.bincount(edges[1], minlength=len(x)).clamp(min=1).float()
        norm = (degree[edges[0]] * degree[edges[1]]).rsqrt()
        x = F.relu(self.first(x, edges, norm))
        return self.second(F.dropout(x, 0.5, self.training), edges, norm)


nodes = 60
x, edges, labels = torch.randn(nodes, 24), torch.randint(0, nodes, (2, 240)), torch.randint(0, 4, (nodes,))
train = torch.arange(nodes) < 40
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
for _ in range(4):
    model.train()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = model(x, edges)
        loss = F.cross_entropy(out[train], labels[train])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.eval()
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        (model(x, edges).argmax(dim=-1)[~train] == labels[~train]).float().mean().item()
