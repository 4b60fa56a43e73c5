"""Training in float16, to be run with --deep never: what can be told when no gradient is sampled. See rules/apart.py.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).with_name("rules")))

import torch
from apart import main, region, rows
from castscope import amp
from torch import nn


class Training:
    def __init__(self, dtype=torch.float16):
        self.dtype = dtype
        self.model = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3)

    def loss(self):
        with region(self.dtype):
            out = self.model(rows(8))
        return out.float().pow(2).mean()

    def step(self):
        self.optimizer.step()
        self.optimizer.zero_grad()


def c53():
    t = Training()
    for _ in range(4):
        t.loss().backward()  # finds: scaler-missing
        t.step()


def c53_accumulated():
    t = Training()
    for _ in range(4):
        for _ in range(2):
            (t.loss() / 2).backward()  # finds: scaler-missing
        t.step()


def c53_losses_with_weights():
    t = Training()
    for _ in range(4):
        loss = t.loss() + 0.1 * t.loss()
        loss.backward()  # finds: scaler-missing
        t.step()


def c53_a_masked_loss():
    t, mask = Training(), torch.ones(8, 4)
    for _ in range(4):
        with region(torch.float16):
            out = t.model(rows(8))
        ((out.float().pow(2) * mask).sum() / mask.sum()).backward()  # finds: scaler-missing
        t.step()


def c53_a_scaler_that_is_off():
    t, scaler = Training(), torch.amp.GradScaler("cpu", enabled=False)
    for _ in range(4):
        scaler.scale(t.loss()).backward()  # finds: scaler-missing
        scaler.step(t.optimizer)
        scaler.update()
        t.optimizer.zero_grad()


def c53_one_of_two_models():
    t, critic = Training(), Training(torch.bfloat16)
    for _ in range(4):
        critic.loss().backward()
        critic.step()
        t.loss().backward()  # finds: scaler-missing
        t.step()


def c53n_scaler():
    t, scaler = Training(), torch.amp.GradScaler("cpu")
    for _ in range(4):
        scaler.scale(t.loss()).backward()
        scaler.step(t.optimizer)
        scaler.update()
        t.optimizer.zero_grad()


def c53n_handle():
    t = Training()
    handle = amp.init(device_type="cpu", dtype=torch.float16)
    for _ in range(4):
        with handle.scale_loss(t.loss(), t.optimizer) as scaled_loss:
            scaled_loss.backward()
        t.step()
    handle._deactivate()


def c53n_scaled_by_hand():
    t, scale = Training(), 65536.0
    for _ in range(4):
        (t.loss() * scale).backward()
        for p in t.model.parameters():
            p.grad.div_(scale)
        t.step()


def c53n_scaled_by_hand_and_accumulated():
    t, scale = Training(), torch.tensor(1024.0)
    for _ in range(4):
        for _ in range(2):
            (scale * t.loss() / 2).backward()
        torch._foreach_mul_([p.grad for p in t.model.parameters()], 1 / scale)
        t.step()


def c53n_a_scale_for_backward():
    t, scale = Training(), torch.tensor(1024.0)
    for _ in range(4):
        t.loss().backward(scale)
        for p in t.model.parameters():
            p.grad /= scale
        t.step()


def c53n_float16_weights():
    # Their masters are in float32, and scaled by whoever keeps them.
    t = Training()
    t.model.half()
    masters = [p.detach().float() for p in t.model.parameters()]
    optimizer = torch.optim.SGD(masters, lr=1e-3)
    for _ in range(4):
        t.loss().backward()
        for p, master in zip(t.model.parameters(), masters):
            master.grad, p.grad = p.grad.float(), None
        optimizer.step()
        for p, master in zip(t.model.parameters(), masters):
            p.data.copy_(master)


def c53n_bf16():
    t = Training(torch.bfloat16)
    for _ in range(4):
        t.loss().backward()
        t.step()


def c53n_inference():
    t = Training()
    with torch.no_grad():
        for _ in range(6):
            t.loss()


def c53n_a_frozen_teacher():
    teacher, student = Training(), Training(torch.bfloat16)
    for _ in range(4):
        with torch.no_grad():
            teacher.loss()
        student.loss().backward()
        student.step()


def c53n_a_try():
    t = Training()
    for _ in range(2):
        t.loss().backward()
        t.step()


if __name__ == "__main__":
    main(globals())
