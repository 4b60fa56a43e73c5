"""Losses and the code around them."""

import torch
from mode_modules import case
from torch import nn
from torch.nn import functional as F


@case((23, 6), (23, 6), (6, 6), refused="ambient", short=True)
def losses(x, target, w):
    y = torch.mm(x, w)
    found = [F.mse_loss(y[1:], target[1:])]
    found.append(F.l1_loss(y[2:], target[2:]))
    found.append(F.smooth_l1_loss(y[3:], target[3:]))
    found.append(F.huber_loss(y[4:], target[4:]))
    found.append(F.kl_div(F.log_softmax(y[5:], dim=1), F.softmax(target[5:], dim=1), reduction="batchmean"))
    found.append(F.binary_cross_entropy_with_logits(y[6:], target[6:].sigmoid()))
    found.append(F.poisson_nll_loss(y[7:].float(), target[7:].abs()))
    found.append(F.soft_margin_loss(y[8:], target[8:].sign()))
    found.append(F.margin_ranking_loss(y[9:, 0], target[9:, 0], torch.ones(14)))
    found.append(F.hinge_embedding_loss(y[10:], torch.ones(13, 6)))
    return torch.stack(found).sum()


@case(lambda: (torch.randn(9, 8), torch.randint(0, 4, (9,))), refused="ambient", short=True)
class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head, self.other = nn.Linear(8, 10), nn.Linear(10, 4), nn.Linear(10, 5)
        self.loss = nn.CrossEntropyLoss(label_smoothing=0.1)

    def forward(self, x, target):
        x = F.relu(self.body(x))
        scores = self.head(x)
        plain = F.cross_entropy(scores, target)
        smooth = self.loss(self.other(x[1:]), target[1:])
        likely = F.nll_loss(F.log_softmax(scores[2:], dim=-1), target[2:])
        multi = F.multi_margin_loss(scores[3:].float(), target[3:])
        return torch.stack([plain, smooth, likely, multi]).sum()


@case((13, 5), (13, 5), (13, 5))
class Triplets(nn.Module):
    """One network for three inputs; the first ones lose rows, so that each call has its sizes."""

    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(5, 7), nn.Linear(7, 6)
        self.loss = nn.TripletMarginLoss(margin=0.3)

    def embed(self, x):
        x = F.relu(self.one(x))
        return F.normalize(self.two(x), dim=-1)

    def forward(self, anchor, positive, negative):
        a, p, n = self.embed(anchor), self.embed(positive[1:]), self.embed(negative[2:])
        triplets = self.loss(a[3:], p[2:], n[1:])
        scores = torch.mm(a[4:], n[2:].t()) / 0.1
        contrast = F.cross_entropy(scores, torch.arange(9))
        return triplets + contrast + torch.mm(p, n.t()).mean()


@case(lambda: (torch.randn(12, 8), torch.rand(12, 3), torch.randint(0, 3, (12,))))
class SeveralHeads(nn.Module):
    """Weights of losses that are learned."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 9), nn.GELU(), nn.Linear(9, 10), nn.GELU())
        self.heads = nn.ModuleList([nn.Linear(10, 3) for _ in range(4)])
        self.scales = nn.Parameter(torch.zeros(4))

    def forward(self, x, value, kind):
        x = self.body(x)
        found = []
        for i, head in enumerate(self.heads):
            y = head(x[i:])
            if i % 2 == 0:
                found.append(F.mse_loss(y, value[i:]))
            else:
                found.append(F.cross_entropy(y, kind[i:]))
        stacked = torch.stack(found)
        return (stacked * torch.exp(-self.scales) + self.scales).sum()


@case((9, 4, 6), (11, 6))
class Distillation(nn.Module):
    def __init__(self):
        super().__init__()
        self.teacher = nn.Sequential(nn.Linear(6, 14), nn.ReLU(), nn.Linear(14, 5))
        self.student = nn.Linear(6, 5)

    def forward(self, x, y):
        with torch.no_grad():
            wanted = F.softmax(self.teacher(x) / 2.0, dim=-1)
        found = F.log_softmax(self.student(x[1:]) / 2.0, dim=-1)
        soft = -(wanted[2:] * found[1:]).sum(-1).mean()
        return soft + F.mse_loss(self.student(y), self.teacher(y[1:]).mean(0, keepdim=True).expand(11, 5))
