"""A denoiser on latents that frozen encoders make under no_grad (diffusers' text-to-image script)."""

import torch
import torch.nn.functional as F
from torch import nn


def timestep_embedding(t, dim=32):
    freqs = torch.exp(-torch.arange(0, dim, 2).float() / dim * 9.21)
    angles = t[:, None].float() * freqs[None]
    return torch.cat([angles.cos(), angles.sin()], dim=-1)


class Denoiser(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(32, width), nn.SiLU(), nn.Linear(width, width))
        self.conv_in, self.conv_out = nn.Conv2d(4, width, 3, padding=1), nn.Conv2d(width, 4, 3, padding=1)
        self.norm, self.context = nn.GroupNorm(4, width), nn.Linear(16, width)

    def forward(self, x, t, context):
        emb = self.time(timestep_embedding(t)) + self.context(context).mean(dim=1)
        h = self.conv_in(x) + emb[:, :, None, None]
        return self.conv_out(F.silu(self.norm(h)))


vae = nn.Conv2d(3, 8, 4, stride=4).requires_grad_(False).to(torch.bfloat16)
text_encoder = nn.Sequential(nn.Embedding(50, 16), nn.Linear(16, 16)).requires_grad_(False).to(torch.bfloat16)
unet = Denoiser()
optimizer = torch.optim.AdamW(unet.parameters(), lr=1e-4)
alphas_cumprod = torch.cumprod(1 - torch.linspace(0.00085 ** 0.5, 0.012 ** 0.5, 1000) ** 2, dim=0)
for _ in range(5):
    pixels, ids = torch.randn(2, 3, 32, 32), torch.randint(0, 50, (2, 7))
    with torch.no_grad():
        mean, logvar = vae(pixels.to(torch.bfloat16)).float().chunk(2, dim=1)
        latents = (mean + torch.randn_like(mean) * (0.5 * logvar.clamp(-30, 20)).exp()) * 0.18215
        context = text_encoder(ids)
    noise, t = torch.randn_like(latents), torch.randint(0, 1000, (2,))
    alpha = alphas_cumprod[t][:, None, None, None]
    noisy = alpha.sqrt() * latents + (1 - alpha).sqrt() * noise
    with torch.autocast("cpu", dtype=torch.bfloat16):
        predicted = unet(noisy, t, context)
    loss = F.mse_loss(predicted.float(), noise)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(unet.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
