"""Gradient scaling: what users write, one function a case. See apart.py."""

import contextlib

import torch
from apart import main, region, rows
from torch import nn


class Training:
    """A model that is trained in a region, step by step."""

    def __init__(self, dtype=torch.float16, factor=1.0, **scaler):
        self.dtype, self.factor = dtype, factor
        self.body, self.head = nn.Linear(32, 32), nn.Linear(32, 4)
        self.model = nn.Sequential(self.body, nn.ReLU(), self.head)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3)
        self.scaler = torch.amp.GradScaler("cpu", **scaler)

    def loss(self):
        with region(self.dtype):
            out = self.model(rows(8))
        return out.float().pow(2).mean() * self.factor


def c53():
    t = Training(factor=1e-6)
    for _ in range(4):
        t.loss().backward()  # finds: scaler-missing
        t.optimizer.step()
        t.optimizer.zero_grad()


def c53_loss_in_the_region():
    model = nn.Linear(256, 256)
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(3):
        optimizer.zero_grad()
        with region(torch.float16):
            loss = model(rows(4).repeat(1, 8)).float().square().mean() * 1e-7
        loss.backward()  # finds: scaler-missing
        optimizer.step()


def c53n_large_enough():
    t = Training()
    for _ in range(4):
        t.loss().backward()
        t.optimizer.step()
        t.optimizer.zero_grad()


def c53n_bf16():
    t = Training(torch.bfloat16, factor=1e-6)
    for _ in range(4):
        t.loss().backward()
        t.optimizer.step()
        t.optimizer.zero_grad()


def c53n_scaler():
    t = Training(factor=1e-6)
    for _ in range(4):
        t.scaler.scale(t.loss()).backward()
        t.scaler.step(t.optimizer)
        t.scaler.update()
        t.optimizer.zero_grad()


def c53n_scaled_by_hand():
    t = Training(factor=1e-6)
    for _ in range(4):
        (t.loss() * 65536 * 16).backward()
        for p in t.model.parameters():
            p.grad.div_(65536 * 16)
        t.optimizer.step()
        t.optimizer.zero_grad()


def c53n_inference():
    t = Training(factor=1e-6)
    with torch.no_grad():
        for _ in range(4):
            t.loss()


def c53n_a_loss_of_zero():
    t = Training(factor=0.0)
    for _ in range(4):
        t.loss().backward()
        t.optimizer.step()
        t.optimizer.zero_grad()


def c54():
    t = Training(torch.bfloat16)
    for _ in range(3):
        t.scaler.scale(t.loss()).backward()
        t.scaler.step(t.optimizer)  # finds: scaler-with-bf16
        t.scaler.update()
        t.optimizer.zero_grad()


def c54n_fp16():
    t = Training()
    for _ in range(3):
        t.scaler.scale(t.loss()).backward()
        t.scaler.step(t.optimizer)
        t.scaler.update()
        t.optimizer.zero_grad()


def c54n_not_enabled():
    t = Training(torch.bfloat16, enabled=False)
    for _ in range(3):
        t.scaler.scale(t.loss()).backward()
        t.scaler.step(t.optimizer)
        t.scaler.update()
        t.optimizer.zero_grad()


def c55():
    t = Training()
    t.model.half()
    t.scaler.scale(t.loss()).backward()
    with contextlib.suppress(ValueError):
        t.scaler.step(t.optimizer)  # finds: scaler-fp16-params


def c55_unscale():
    t = Training()
    t.model.half()
    t.scaler.scale(t.loss()).backward()
    with contextlib.suppress(ValueError):
        t.scaler.unscale_(t.optimizer)  # finds: scaler-fp16-params


def c55n_float32():
    t = Training()
    t.scaler.scale(t.loss()).backward()
    t.scaler.unscale_(t.optimizer)
    t.scaler.step(t.optimizer)


def c56_collapse():
    t = Training(factor=float("inf"))
    for _ in range(40):
        t.scaler.scale(t.loss()).backward()
        t.scaler.step(t.optimizer)
        t.scaler.update()  # finds: scaler-collapse
        t.optimizer.zero_grad()


def c56n_the_first_steps_are_skipped():
    t = Training(factor=2.0**14, init_scale=2.0**24)
    for _ in range(20):
        t.scaler.scale(t.loss()).backward()
        t.scaler.step(t.optimizer)
        t.scaler.update()
        t.optimizer.zero_grad()


def c56_unscale_twice():
    t = Training()
    t.scaler.scale(t.loss()).backward()
    t.scaler.unscale_(t.optimizer)
    with contextlib.suppress(RuntimeError):
        t.scaler.unscale_(t.optimizer)  # finds: scaler-double-unscale
    t.scaler.step(t.optimizer)
    t.scaler.update()


def c56_unscale_after_step():
    t = Training()
    t.scaler.scale(t.loss()).backward()
    t.scaler.step(t.optimizer)
    with contextlib.suppress(RuntimeError):
        t.scaler.unscale_(t.optimizer)  # finds: scaler-double-unscale


def c56n_unscale_once_each_step():
    t = Training()
    for _ in range(3):
        t.scaler.scale(t.loss()).backward()
        t.scaler.unscale_(t.optimizer)
        nn.utils.clip_grad_norm_(t.model.parameters(), 1.0)
        t.scaler.step(t.optimizer)
        t.scaler.update()
        t.optimizer.zero_grad()


def s36():
    t = Training()
    first, second = (torch.optim.SGD(m.parameters(), lr=1e-9) for m in (t.body, t.head))
    for _ in range(2):
        t.scaler.scale(t.loss()).backward()
        t.scaler.step(first)
        second.step()  # finds: scaler-bypassed
        t.scaler.update()
        t.model.zero_grad()


def s36_stepped_first():
    t = Training()
    first, second = (torch.optim.Adam(m.parameters(), lr=1e-9) for m in (t.body, t.head))
    t.scaler.scale(t.loss()).backward()
    second.step()  # finds: scaler-bypassed
    t.scaler.step(first)
    t.scaler.update()


def s36_clipped_before_unscale():
    t = Training()
    for _ in range(3):
        t.scaler.scale(t.loss()).backward()
        nn.utils.clip_grad_norm_(t.model.parameters(), 1.0)  # finds: scaler-bypassed
        t.scaler.step(t.optimizer)
        t.scaler.update()
        t.optimizer.zero_grad()


def s36_values_clipped_before_unscale():
    t = Training()
    t.scaler.scale(t.loss()).backward()
    nn.utils.clip_grad_value_(t.model.parameters(), 0.5)  # finds: scaler-bypassed
    t.scaler.step(t.optimizer)
    t.scaler.update()


def s36_the_only_optimizer():
    t = Training()
    t.scaler.scale(t.loss()).backward()
    t.optimizer.step()  # finds: scaler-bypassed


def s36n_unscaled_by_hand():
    t = Training()
    for _ in range(3):
        t.scaler.scale(t.loss()).backward()
        for p in t.model.parameters():
            p.grad.div_(t.scaler.get_scale())
        nn.utils.clip_grad_norm_(t.model.parameters(), 1.0)
        t.optimizer.step()
        t.optimizer.zero_grad()


def s36n_the_norm_is_measured():
    t = Training()
    for n in range(4):
        t.scaler.scale(t.loss()).backward()
        nn.utils.clip_grad_norm_(t.model.parameters(), float("inf"), foreach=n % 2 == 0)
        t.scaler.step(t.optimizer)
        t.scaler.update()
        t.optimizer.zero_grad()


def s36n_unscale_first():
    t = Training()
    first, second = (torch.optim.SGD(m.parameters(), lr=1e-3) for m in (t.body, t.head))
    for _ in range(3):
        t.scaler.scale(t.loss()).backward()
        for optimizer in (first, second):
            t.scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(t.model.parameters(), 1.0)
        t.scaler.step(first)
        t.scaler.step(second)
        t.scaler.update()
        t.model.zero_grad()


def s36n_fused_optimizer():
    t = Training()
    optimizer = torch.optim.AdamW(t.model.parameters(), fused=True)
    for _ in range(3):
        t.scaler.scale(t.loss()).backward()
        t.scaler.step(optimizer)
        t.scaler.update()
        optimizer.zero_grad()


def s36n_another_model_without_scaler():
    t, critic = Training(), nn.Linear(32, 1)
    other = torch.optim.SGD(critic.parameters(), lr=1e-3)
    for _ in range(3):
        t.scaler.scale(t.loss()).backward()
        critic(rows()).sum().backward()
        nn.utils.clip_grad_norm_(critic.parameters(), 1.0)
        other.step()
        t.scaler.step(t.optimizer)
        t.scaler.update()
        t.model.zero_grad()
        critic.zero_grad()


def s36n_no_scaler_at_all():
    t = Training(torch.bfloat16)
    for _ in range(3):
        t.loss().backward()
        nn.utils.clip_grad_norm_(t.model.parameters(), 1.0)
        t.optimizer.step()
        t.optimizer.zero_grad()


def s36n_gradient_penalty():
    """As PyTorch's notes on AMP have it."""
    t = Training(init_scale=1024.0)
    for _ in range(3):
        loss = t.loss()
        scaled = torch.autograd.grad(t.scaler.scale(loss), t.model.parameters(), create_graph=True)
        penalty = sum((g / t.scaler.get_scale()).pow(2).sum() for g in scaled)
        t.scaler.scale(loss + penalty.sqrt()).backward()
        t.scaler.step(t.optimizer)
        t.scaler.update()
        t.optimizer.zero_grad()


def s37():
    t = Training(init_scale=2048.0)
    for n in range(4):
        t.scaler.scale(t.loss()).backward()
        if n == 3:
            t.scaler.step(t.optimizer)
            t.optimizer.zero_grad()
            continue
        t.scaler.unscale_(t.optimizer)
        t.scaler.update()  # finds: scaler-updated-midway


def s37_a_new_scale():
    t = Training(init_scale=2048.0)
    t.scaler.scale(t.loss()).backward()
    t.scaler.update(1024.0)  # finds: scaler-updated-midway
    t.scaler.scale(t.loss()).backward()
    t.scaler.step(t.optimizer)


def s37n_accumulated():
    t = Training()
    for n in range(6):
        t.scaler.scale(t.loss() / 2).backward()
        if n % 2 == 1:
            t.scaler.step(t.optimizer)
            t.scaler.update()
            t.optimizer.zero_grad()


def s37n_a_loss_for_each_optimizer():
    t, u = Training(), Training()
    for _ in range(3):
        for part in (t, u):
            t.scaler.scale(part.loss()).backward()
            t.scaler.step(part.optimizer)
            part.optimizer.zero_grad()
        t.scaler.update()


def s37n_a_scaler_for_each():
    t, u = Training(), Training()
    for _ in range(3):
        for part in (t, u):
            part.scaler.scale(part.loss()).backward()
            part.scaler.step(part.optimizer)
            part.scaler.update()
            part.optimizer.zero_grad()


if __name__ == "__main__":
    main(globals())
