"""Diffusion with an averaged model that samples from time to time (denoising-diffusion-pytorch)."""

import copy
import math

import torch
import torch.nn.functional as F
from torch import nn

T = 8
betas = torch.linspace(1e-2, 0.3, T, dtype=torch.float64)
alphas_bar = torch.cumprod(1 - betas, dim=0)


class Unet(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.dim = dim
        self.time = nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, 2 * dim))
        self.first, self.norm = nn.Conv2d(3, dim, 3, padding=1), nn.GroupNorm(4, dim)
        self.qkv, self.out = nn.Conv2d(dim, 3 * dim, 1, bias=False), nn.Conv2d(dim, dim, 1)
        self.last = nn.Conv2d(dim, 3, 1)

    def forward(self, x, t):
        freqs = torch.exp(torch.arange(self.dim // 2) * (-math.log(1e4) / (self.dim // 2 - 1)))
        emb = t[:, None] * freqs[None]
        scale, shift = self.time(torch.cat((emb.sin(), emb.cos()), dim=-1))[..., None, None].chunk(2, dim=1)
        x = F.silu(self.norm(self.first(x)) * (scale + 1) + shift)
        q, k, v = (y.flatten(2).transpose(1, 2) for y in self.qkv(x).chunk(3, dim=1))
        attended = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(x.shape)
        return self.last(x + self.out(attended))


@torch.inference_mode()
def sample(model, count=2):
    x = torch.randn(count, 3, 8, 8)
    for step in reversed(range(T)):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            noise = model(x, torch.full((count,), step))
        beta, bar = betas[step].item(), alphas_bar[step].item()
        x = (x - beta / math.sqrt(1 - bar) * noise.float()) / math.sqrt(1 - beta)
        if step:
            x = x + math.sqrt(beta) * torch.randn_like(x)
    return x.clamp(-1, 1)


model = Unet()
ema = copy.deepcopy(model).requires_grad_(False).eval()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.99))
for step in range(6):
    images, t = torch.rand(4, 3, 8, 8) * 2 - 1, torch.randint(0, T, (4,))
    bar = alphas_bar[t].float()[:, None, None, None]
    noise = torch.randn_like(images)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        predicted = model(bar.sqrt() * images + (1 - bar).sqrt() * noise, t)
    loss = F.mse_loss(predicted.float(), noise, reduction="none").mean(dim=(1, 2, 3)).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    with torch.no_grad():
        torch._foreach_lerp_(list(ema.parameters()), list(model.parameters()), 0.1)
    if step % 3 == 2:
        sample(ema)
