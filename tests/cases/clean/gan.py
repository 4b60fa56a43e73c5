"""Two networks with an optimizer and a gradient scaler each (DCGAN with a gradient penalty in float32)."""

import torch
import torch.nn.functional as F
from torch import nn

generator = nn.Sequential(nn.ConvTranspose2d(16, 32, 4), nn.BatchNorm2d(32), nn.ReLU(),
                          nn.ConvTranspose2d(32, 3, 4, 2, 1), nn.Tanh())
discriminator = nn.Sequential(nn.Conv2d(3, 32, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(32, 32, 4), nn.Flatten(),
                              nn.Linear(32, 1))
opt_g = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
scaler_g, scaler_d = (torch.amp.GradScaler("cpu", init_scale=1024.0) for _ in range(2))


def penalty(real):
    """R1, which differentiates twice: without autocast, since its squares overflow in float16."""
    real = real.detach().requires_grad_()
    with torch.autocast("cpu", enabled=False):
        (grad,) = torch.autograd.grad(discriminator(real).sum(), real, create_graph=True)
        return grad.square().flatten(1).sum(1).mean()


for step in range(6):
    real, z = torch.randn(4, 3, 8, 8), torch.randn(4, 16, 1, 1)
    with torch.autocast("cpu", dtype=torch.float16):
        fake = generator(z)
        loss_d = F.softplus(discriminator(fake.detach())).mean() + F.softplus(-discriminator(real)).mean()
    if step % 3 == 0:
        loss_d = loss_d + 5.0 * penalty(real)
    opt_d.zero_grad(set_to_none=True)
    scaler_d.scale(loss_d).backward()
    scaler_d.step(opt_d)
    scaler_d.update()

    discriminator.requires_grad_(False)
    with torch.autocast("cpu", dtype=torch.float16):
        loss_g = F.softplus(-discriminator(fake)).mean()
    opt_g.zero_grad(set_to_none=True)
    scaler_g.scale(loss_g).backward()
    scaler_g.step(opt_g)
    scaler_g.update()
    discriminator.requires_grad_(True)
