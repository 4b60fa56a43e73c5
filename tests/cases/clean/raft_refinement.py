"""Optical flow that is refined step by step: one region around all iterations, coordinates in float32 (RAFT)."""

import torch
import torch.nn.functional as F
from torch import nn


class UpdateBlock(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.encode = nn.Conv2d(9 + 2, hidden, 3, padding=1)
        self.convz, self.convr, self.convq = (nn.Conv2d(2 * hidden, hidden, 3, padding=1) for _ in range(3))
        self.head = nn.Conv2d(hidden, 2, 3, padding=1)

    def forward(self, net, corr, flow):
        x = F.relu(self.encode(torch.cat([corr, flow], dim=1)))
        hx = torch.cat([net, x], dim=1)
        z, r = torch.sigmoid(self.convz(hx)), torch.sigmoid(self.convr(hx))
        q = torch.tanh(self.convq(torch.cat([r * net, x], dim=1)))
        net = (1 - z) * net + z * q
        return net, self.head(net)


class Flow(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.fnet, self.cnet = nn.Conv2d(3, 16, 4, stride=4), nn.Conv2d(3, hidden, 4, stride=4)
        self.update = UpdateBlock(hidden)

    def lookup(self, volume, coords):
        """Nine values of correlation around where each pixel is now."""
        with torch.autocast("cpu", enabled=False):
            b, _, h, w = coords.shape
            ys, xs = torch.meshgrid(torch.arange(-1, 2), torch.arange(-1, 2), indexing="ij")
            window = torch.stack([xs, ys], dim=-1).float()
            at = coords.permute(0, 2, 3, 1).reshape(b * h * w, 1, 1, 2) + window
            grid = 2 * at / torch.tensor([w - 1.0, h - 1.0]) - 1
            return F.grid_sample(volume, grid, align_corners=True).view(b, h, w, 9).permute(0, 3, 1, 2)

    def forward(self, first, second, iterations=4):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            f1, f2 = self.fnet(first), self.fnet(second)
            b, c, h, w = f1.shape
            with torch.autocast("cpu", enabled=False):
                volume = torch.einsum("bchw,bcij->bhwij", f1.float(), f2.float()).view(b * h * w, 1, h, w) / c ** 0.5
            net = torch.tanh(self.cnet(first))
            ys, xs = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
            start = torch.stack([xs, ys]).float().expand(b, -1, -1, -1)
            coords, flows = start, []
            for _ in range(iterations):
                coords = coords.detach()
                net, delta = self.update(net, self.lookup(volume, coords), coords - start)
                coords = coords + delta.float()
                flows.append(coords - start)
        return flows


model = Flow()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for _ in range(4):
    truth = torch.randn(2, 2, 8, 8)
    flows = model(torch.rand(2, 3, 32, 32), torch.rand(2, 3, 32, 32))
    loss = sum(0.8 ** (len(flows) - i - 1) * (flow - truth).abs().mean() for i, flow in enumerate(flows))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
