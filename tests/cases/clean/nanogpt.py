"""A small GPT with a tied head, accumulated gradients, and losses estimated in a loop beside training (nanoGPT)."""

import torch
import torch.nn.functional as F
from torch import nn

VOCAB, BLOCK, WIDTH = 65, 16, 32
device_type = "cpu"
ctx = torch.autocast(device_type=device_type, dtype=torch.bfloat16)
data = {split: torch.randint(0, VOCAB, (1000,)) for split in ("train", "val")}


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.c_attn, self.c_proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH), nn.Dropout(0.1))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, 4, c // 4).transpose(1, 2) for y in self.c_attn(self.ln_1(x)).split(c, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.c_proj(y.transpose(1, 2).contiguous().view(b, t, c))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCAB, WIDTH), nn.Embedding(BLOCK, WIDTH)
        self.h = nn.ModuleList(Block() for _ in range(2))
        self.ln_f, self.lm_head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCAB, bias=False)
        self.wte.weight = self.lm_head.weight

    def forward(self, idx, targets=None):
        x = self.wte(idx) + self.wpe(torch.arange(idx.shape[1]))
        for block in self.h:
            x = block(x)
        x = self.ln_f(x)
        if targets is None:
            return self.lm_head(x[:, [-1], :]), None
        logits = self.lm_head(x)
        return logits, F.cross_entropy(logits.view(-1, VOCAB), targets.view(-1), ignore_index=-1)


def get_batch(split):
    at = torch.randint(VOCAB, (4,))
    return torch.stack([data[split][i:i + BLOCK] for i in at]), torch.stack([data[split][i + 1:i + 1 + BLOCK]
                                                                             for i in at])


@torch.no_grad()
def estimate_loss():
    model.eval()
    out = {}
    for split in ("train", "val"):
        losses = torch.zeros(3)
        for k in range(3):
            with ctx:
                _, loss = model(*get_batch(split))
            losses[k] = loss.item()
        out[split] = losses.mean()
    model.train()
    return out


model = GPT()
scaler = torch.amp.GradScaler(device_type, enabled=False)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95))
for step in range(6):
    if step % 3 == 0:
        estimate_loss()
    for _ in range(2):
        with ctx:
            _, loss = model(*get_batch("train"))
            loss = loss / 2
        scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
model.eval()
with torch.no_grad(), ctx:
    idx = torch.zeros((1, 1), dtype=torch.long)
    for _ in range(5):
        logits, _ = model(idx)
        probs = F.softmax(logits[:, -1, :].float(), dim=-1)
        idx = torch.cat((idx, torch.multinomial(probs, 1)), dim=1)
