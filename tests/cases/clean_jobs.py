"""Training and inference as it should be, one function a job: nothing may be found in them. Each runs in a process of
its own (a fork); with names on the command line, those."""

import copy
import pathlib
import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

sys.path.insert(0, str(pathlib.Path(__file__).with_name("rules")))
from apart import region, run_apart

STEPS = 4


def labels(count, classes=5):
    return torch.randint(0, classes, (count,))


class Attention(nn.Module):
    def __init__(self, width=32, heads=4):
        super().__init__()
        self.heads = heads
        self.into, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x, mask):
        batch, length, width = x.shape
        q, k, v = self.into(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) * (width // self.heads) ** -0.5
        weights = scores.masked_fill(mask, float("-inf")).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x, mask):
        x = x + self.dropout(self.attention(self.first(x), mask))
        return x + self.dropout(self.down(F.gelu(self.up(self.second(x)))))


class Words(nn.Module):
    """A small language model with a tied head; its embeddings are float32, and so is its residual stream."""

    def __init__(self, words=50, width=32, depth=2):
        super().__init__()
        self.words, self.positions = nn.Embedding(words, width), nn.Embedding(16, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.norm = nn.LayerNorm(width)

    def forward(self, ids, checkpointed=False):
        length = ids.shape[1]
        mask = torch.ones(length, length, dtype=torch.bool).triu(1)
        x = self.words(ids) + self.positions(torch.arange(length))
        for block in self.blocks:
            x = checkpoint(block, x, mask, use_reentrant=False) if checkpointed else block(x, mask)
        return F.linear(self.norm(x), self.words.weight)


def language_model():
    model = Words()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    for _ in range(STEPS):
        ids = torch.randint(0, 50, (2, 9))
        with region():
            logits = model(ids[:, :-1])
            loss = F.cross_entropy(logits.float().flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad(set_to_none=True)
    model.eval()
    with torch.no_grad(), region():
        ids = torch.tensor([[1, 2]])
        for _ in range(4):
            ids = torch.cat([ids, model(ids)[:, -1:].argmax(-1)], 1)


def checkpointed_with_accumulation():
    model = Words()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for micro in range(2 * STEPS):
        ids = torch.randint(0, 50, (2, 9))
        with region():
            loss = F.cross_entropy(model(ids[:, :-1], checkpointed=True).flatten(0, 1), ids[:, 1:].flatten()) / 2
        loss.backward()
        if micro % 2:
            optimizer.step()
            optimizer.zero_grad()


def float16_with_a_scaler():
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 5))
    optimizer, scaler = torch.optim.AdamW(model.parameters()), torch.amp.GradScaler("cpu", init_scale=2.0**10)
    for _ in range(STEPS):
        optimizer.zero_grad()
        with region(torch.float16):
            loss = F.cross_entropy(model(torch.randn(8, 32)), labels(8))
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    model.eval()
    right = 0
    with torch.inference_mode(), region(torch.float16):
        right += (model(torch.randn(8, 32)).argmax(-1) == labels(8)).sum().item()


def images():
    model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
                          nn.Conv2d(8, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                          nn.Linear(16, 5))
    average = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    for _ in range(STEPS):
        model.train()
        with region():
            loss = F.cross_entropy(model(torch.randn(4, 3, 16, 16)), labels(4), label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for mean, weight in zip(average.parameters(), model.parameters()):
                mean.lerp_(weight, 0.1)
        average.eval()
        with torch.no_grad(), region():
            average(torch.randn(4, 3, 16, 16)).softmax(-1).max(-1)


def variational_autoencoder():
    encoder, decoder = nn.Linear(32, 16), nn.Linear(8, 32)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()])
    for _ in range(STEPS):
        x = torch.randn(4, 32)
        with region():
            mean, spread = encoder(x).float().chunk(2, -1)
            z = mean + torch.randn_like(mean) * (spread / 2).exp()
            loss = F.mse_loss(decoder(z), x) - (1 + spread - mean.square() - spread.exp()).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def two_players():
    maker, judge = nn.Linear(8, 32), nn.Sequential(nn.Linear(32, 32), nn.LeakyReLU(), nn.Linear(32, 1))
    of_maker, of_judge = torch.optim.Adam(maker.parameters()), torch.optim.Adam(judge.parameters())
    for _ in range(STEPS):
        with region():
            made = maker(torch.randn(4, 8))
            real, fake = judge(torch.randn(4, 32)), judge(made.detach())
            loss = (F.binary_cross_entropy_with_logits(real, torch.ones_like(real))
                    + F.binary_cross_entropy_with_logits(fake, torch.zeros_like(fake)))
        of_judge.zero_grad()
        loss.backward()
        of_judge.step()
        with region():
            fake = judge(maker(torch.randn(4, 8)))
            loss = F.binary_cross_entropy_with_logits(fake, torch.ones_like(fake))
        of_maker.zero_grad()
        loss.backward()
        of_maker.step()


def contrast():
    tower = nn.Sequential(nn.Linear(32, 32), nn.GELU(), nn.Linear(32, 16))
    warmth = nn.Parameter(torch.tensor(2.0))
    optimizer = torch.optim.AdamW([*tower.parameters(), warmth])
    for _ in range(STEPS):
        with region():
            left, right = tower(torch.randn(8, 32)), tower(torch.randn(8, 32))
            with torch.autocast("cpu", enabled=False):
                left, right = F.normalize(left.float(), dim=-1), F.normalize(right.float(), dim=-1)
                loss = F.cross_entropy(left @ right.t() * warmth.exp(), torch.arange(8))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def teacher_and_student():
    teacher, student = nn.Linear(32, 5), nn.Linear(32, 5)
    teacher.requires_grad_(False)
    optimizer = torch.optim.SGD(student.parameters(), lr=0.05)
    for _ in range(STEPS):
        x = torch.randn(8, 32)
        with region():
            with torch.no_grad():
                wanted = teacher(x)
            loss = F.kl_div(F.log_softmax(student(x).float(), -1), F.softmax(wanted.float(), -1),
                            reduction="batchmean")
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def policy_gradient():
    policy = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 4))
    optimizer = torch.optim.Adam(policy.parameters())
    for _ in range(STEPS):
        seen = torch.randn(6, 8)
        with torch.no_grad(), region():
            done = torch.distributions.Categorical(logits=policy(seen).float()).sample()
        with region():
            chosen = torch.distributions.Categorical(logits=policy(seen).float())
            loss = -(chosen.log_prob(done) * torch.randn(6)).mean() - 0.01 * chosen.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def decorated_function():
    class Product(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu")
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return x @ w

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            x, w = ctx.saved_tensors
            return grad @ w.t(), x.t() @ grad

    weight = nn.Parameter(torch.randn(32, 5) * 0.1)
    optimizer = torch.optim.SGD([weight], lr=0.05)
    for _ in range(STEPS):
        with region():
            loss = F.cross_entropy(Product.apply(torch.randn(4, 32), weight), labels(4))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def plain_float():
    model = nn.Linear(32, 5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(STEPS):
        with torch.autocast("cpu", enabled=False):
            loss = F.cross_entropy(model(torch.randn(4, 32)), labels(4))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def region_in_the_model():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head = nn.Linear(32, 32), nn.Linear(32, 5)

        def forward(self, x):
            with region():
                h = F.relu(self.body(x))
                return self.head(h).float()

    model = Model()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(STEPS):
        loss = F.cross_entropy(model(torch.randn(4, 32)), labels(4))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    with torch.inference_mode():
        model(torch.randn(4, 32))


JOBS = [language_model, checkpointed_with_accumulation, float16_with_a_scaler, images, variational_autoencoder,
        two_players, contrast, teacher_and_student, policy_gradient, decorated_function, plain_float,
        region_in_the_model]

if __name__ == "__main__":
    chosen = [job for job in JOBS if not sys.argv[1:] or job.__name__ in sys.argv[1:]]
    sys.exit(any([run_apart(job) for job in chosen]))
