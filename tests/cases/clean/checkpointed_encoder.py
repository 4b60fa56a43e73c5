"""PyTorch's own encoder layers, each computed again in the backward pass (gradient_checkpointing_enable)."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint


class Encoder(nn.Module):
    def __init__(self, vocab=60, dim=32, depth=3):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.1, batch_first=True, norm_first=True)
            for _ in range(depth))
        self.norm, self.classify = nn.LayerNorm(dim), nn.Linear(dim, 4)

    def forward(self, ids):
        padding = ids == 0
        x = self.embed(ids)
        for layer in self.layers:
            if self.training:
                x = checkpoint(layer, x, src_key_padding_mask=padding, use_reentrant=False)
            else:
                x = layer(x, src_key_padding_mask=padding)
        x = self.norm(x).masked_fill(padding[..., None], 0)
        return self.classify(x.sum(dim=1) / (~padding).sum(dim=1, keepdim=True))


model = Encoder()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-3, total_steps=4)
for _ in range(4):
    ids = torch.randint(1, 60, (4, 12))
    ids[:, 9:] = 0
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = F.cross_entropy(model(ids), torch.randint(0, 4, (4,)))
    loss.backward()
    optimizer.step()
    scheduler.step()
    optimizer.zero_grad()
model.eval()
with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
    model(ids).argmax(dim=-1)
