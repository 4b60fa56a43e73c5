"""Contrastive pairs, features cached first and the large batch's loss computed again piece by piece (open_clip)."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class CLIP(nn.Module):
    def __init__(self, width=32, dim=16):
        super().__init__()
        self.visual = nn.Sequential(nn.Conv2d(3, width, 4, stride=4), nn.GELU(), nn.Flatten(), nn.LazyLinear(dim))
        self.text, self.text_projection = nn.Embedding(50, width), nn.Linear(width, dim, bias=False)
        self.ln_final = nn.LayerNorm(width)
        self.logit_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def encode_image(self, image):
        return F.normalize(self.visual(image), dim=-1)

    def encode_text(self, text):
        return F.normalize(self.text_projection(self.ln_final(self.text(text).mean(dim=1))), dim=-1)

    def forward(self, image, text):
        return self.encode_image(image), self.encode_text(text), self.logit_scale.exp()


def clip_loss(image_features, text_features, logit_scale):
    logits = logit_scale * image_features @ text_features.t()
    labels = torch.arange(len(logits))
    return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)) / 2


model = CLIP()
model.encode_image(torch.zeros(1, 3, 16, 16))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.98), eps=1e-6)
accum_freq = 3
for _ in range(4):
    batches = [(torch.randn(4, 3, 16, 16), torch.randint(0, 50, (4, 8))) for _ in range(accum_freq)]
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        features = [model(*batch)[:2] for batch in batches]
    optimizer.zero_grad()
    for i, batch in enumerate(batches):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            image, text, logit_scale = model(*batch)
            images = torch.cat([image if j == i else features[j][0] for j in range(accum_freq)])
            texts = torch.cat([text if j == i else features[j][1] for j in range(accum_freq)])
            loss = clip_loss(images, texts, logit_scale)
        loss.backward()
    optimizer.step()
    with torch.no_grad():
        model.logit_scale.clamp_(0, math.log(100))
