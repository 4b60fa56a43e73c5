"""Straight code: one operator after the other, each on sizes of its own."""

import torch
from mode_modules import case
from torch import nn
from torch.nn import functional as F


@case((7, 8), short=True)
class GeluNormSoftmax(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = nn.Linear(8, 12), nn.Linear(12, 10), nn.Linear(10, 6)
        self.norm, self.second_norm = nn.LayerNorm(12), nn.LayerNorm(10)

    def forward(self, x):
        x = self.norm(F.gelu(self.first(x)))
        x = self.second_norm(F.gelu(self.second(x)))
        return F.softmax(self.third(x), dim=-1)


@case((17, 6), (6, 6), short=True)
def mixed_adds(x, w):
    y = torch.mm(x, w)
    y = y[1:] + x[1:]
    y = torch.mm(y, w)
    y = y[1:] * x[2:]
    y = torch.mm(y, w)[1:] - x[3:]
    y = torch.mm(y, w)[1:] / (x[4:].abs() + 2.0)
    y = torch.mm(y, w)
    z = torch.mm(y[1:], w)
    y = y[2:] + z[1:]
    z = y[1:] + 1
    y = torch.mm(z[1:], w)[1:] + x[9:]
    return y[1:] * 0.5 + x[10:]


@case((3, 4, 5), (3, 5, 6), (7, 6))
def einsums(a, b, c):
    ab = torch.einsum("bij,bjk->bik", a, b)
    back = torch.einsum("bik,bjk->bij", ab[:, 1:], b)
    both = torch.einsum("bij,lk->bijl", back[:, :1, :2], c[:4])
    rows = torch.einsum("bik,lk->bil", ab, c)
    alone = torch.einsum("bil->l", rows)
    return torch.einsum("l,lk->k", alone, c), both


@case((9, 8), refused="ambient", short=True)
class RegionOff(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = nn.Linear(8, 11), nn.Linear(11, 13), nn.Linear(13, 15)

    def forward(self, x):
        x = torch.relu(self.first(x))
        with torch.autocast("cpu", enabled=False):
            x = torch.relu(self.second(x.float()))
            x = torch.mm(x[1:], x[2:].t())
            y = torch.mm(x[1:], x[1:].t())
        z = torch.mm(y[1:], x[:7, 2:])
        return self.third(torch.mm(z, torch.ones(5, 13))) + y.sum()


@case((12, 8), (8, 8))
def region_off_often(x, w):
    for i in range(4):
        y = torch.mm(x, w)
        with torch.autocast("cpu", enabled=False):
            z = torch.mm(x[1:].float(), w.float())
            z = torch.softmax(z, dim=-1)
        x = y[2:] + z[1:]
    return torch.mm(x, w)


@case((12, 5), (5, 5), refused="script ambient")
def statistics(x, w):
    y = torch.mm(x, w)
    a = y.sum(0, keepdim=True) + y[1:].mean(0, keepdim=True)
    b = torch.logsumexp(y[2:], dim=1)
    c = y[3:].float().norm(dim=1)
    d = y[4:].prod(1)
    e = y[5:].cumsum(0)
    f = torch.var(y[6:], dim=0)
    g = torch.std(e[1:], dim=0)
    return a, b[1:] + c, d + c[1:], f + g


@case((31, 4), short=True)
def pointwise(x):
    y = torch.exp(x)
    y = torch.log(y[1:] + 1.0)
    y = torch.sin(y[1:])
    y = torch.cos(y[1:])
    y = torch.tanh(y[1:])
    y = torch.sigmoid(y[1:])
    y = torch.sqrt(y[1:])
    y = torch.pow(y[1:], 2)
    y = torch.rsqrt(y[1:] + 1.0)
    y = torch.reciprocal(y[1:])
    y = torch.exp(y[1:])
    y = torch.log1p(y[1:])
    y = torch.abs(y[1:])
    y = torch.neg(y[1:])
    y = torch.clamp(y[1:], -1.0, 1.0)
    y = torch.tanh(y[1:])
    y = torch.erf(y[1:])
    return torch.maximum(y[1:], x[17:])


@case((14, 6), (6, 6))
def conditions(x, w):
    y = torch.mm(x, w)
    y = torch.where(y > 0, y, x)
    y = y[1:].masked_fill(x[1:] > 1.0, 0.0)
    y = torch.mm(y, w)
    y = torch.where(y[1:] > x[2:], y[1:], 0.5)
    y = y[1:].clamp(min=0.0)
    big = y[1:] >= 0.5
    y = torch.where(big, y[1:], torch.mm(y[1:], w))
    return torch.minimum(y[1:], x[5:])[1:] * (x[6:] < 0)


@case((6, 3, 19, 19), short=True)
class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two, self.three = nn.Conv2d(3, 5, 3), nn.Conv2d(5, 7, 3), nn.Conv2d(7, 9, 3)
        self.norm, self.second_norm = nn.BatchNorm2d(5), nn.BatchNorm2d(7)
        self.up = nn.ConvTranspose2d(9, 4, 2)
        self.along, self.depthwise = nn.Conv1d(4, 6, 3), nn.Conv2d(9, 9, 3, groups=9)
        self.eval()

    def forward(self, x):
        x = F.relu(self.norm(self.one(x)))
        x = F.relu(self.second_norm(self.two(x)))
        x = F.silu(self.depthwise(F.max_pool2d(self.three(x), 2)))
        x = self.up(F.avg_pool2d(x, 2))
        return self.along(x.flatten(2))


@case((5, 2, 15, 15))
class ConvolutionsInTraining(nn.Module):
    """Batch norm works out its statistics, and keeps them."""

    def __init__(self):
        super().__init__()
        self.convolutions = nn.ModuleList([nn.Conv2d(2 + i, 3 + i, 3) for i in range(4)])
        self.norms = nn.ModuleList([nn.BatchNorm2d(3 + i) for i in range(4)])

    def forward(self, x):
        for convolution, norm in zip(self.convolutions, self.norms):
            x = F.relu(norm(convolution(x)))
        return x.mean([2, 3])


@case((3, 5), (4, 5), (5, 5), short=True)
def cat_and_stack(a, b, w):
    x = torch.cat([torch.mm(a, w), b])
    y = torch.stack([torch.mm(x, w)[1:], x[1:]])
    z = torch.cat([y[0], y[1], a], dim=0)
    u = torch.stack([z[:2], b[:2], a[:2]], dim=1)
    v = torch.cat([torch.mm(z, w), z], dim=1)
    return u, torch.cat([v[1:, :5], z])


@case(lambda: (torch.randint(0, 20, (3, 7)), torch.randn(5, 4)))
class Embeddings(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(20, 8), nn.Embedding(7, 8)
        self.bag = nn.EmbeddingBag(20, 6, mode="sum")
        self.norm, self.out = nn.LayerNorm(8), nn.Linear(8, 9)
        self.mix = nn.Linear(6, 4)

    def forward(self, tokens, x):
        words = self.words(tokens) + self.places(torch.arange(tokens.size(1)))
        words = self.norm(words[:, 1:])
        scores = self.out(words[:, 1:])
        bags = self.mix(self.bag(tokens))
        return scores, torch.mm(x, bags.t())


@case((4, 6), (6, 5), (3, 4, 6), (2, 3, 5, 4))
def products(a, b, c, d):
    ab = a @ b
    ca = c @ b
    dd = d[:, :, :, :3].transpose(2, 3) @ d[:, :, :, 1:]
    av = torch.mv(a, b[:, 0])
    vv = torch.dot(b[:, 0], b[:, 1])
    outer = torch.outer(av, b[:, 2])
    added = torch.addmm(outer[:, :5], a[:, 1:], b[1:])
    batched = torch.baddbmm(ca[:, 1:], c[:, 1:], b.expand(3, 6, 5))
    together = torch.bmm(batched, ca.transpose(1, 2))
    return ab, dd, vv, added, together


@case((9, 3), (9, 3), (3, 3), refused="ambient")
def geometry(a, b, w):
    a = torch.mm(a, w)
    near = torch.cdist(a.float(), b)
    angle = F.cosine_similarity(a[1:], b[1:], dim=1)
    cross = torch.cross(a[2:], b[2:].to(a.dtype), dim=1)
    turn = torch.atan2(a[3:].float(), b[3:])
    added = torch.addcmul(b[4:], a[4:].float(), turn[1:])
    divided = torch.addcdiv(added[1:], b[5:], b[5:].abs() + 1.0)
    unit = F.normalize(divided[1:], dim=1)
    return near, angle, cross, torch.lerp(unit, b[6:], 0.5)


@case((2, 3, 16), (2, 3, 9, 9))
def pools(x, y):
    x = F.max_pool1d(x, 2) + F.avg_pool1d(x, 2)
    x = F.adaptive_avg_pool1d(x, 5)
    y = F.interpolate(y, scale_factor=2.0, mode="nearest")
    y = F.pad(y, [1, 1, 1, 1], mode="reflect")
    y = F.interpolate(y, size=[7, 7], mode="bilinear", align_corners=False)
    y = F.adaptive_max_pool2d(y, [3, 3])
    return x, F.pixel_shuffle(y.repeat(1, 4, 1, 1), 2).mean()


@case((9, 12))
class Dropouts(nn.Module):
    """Random numbers are drawn; each mode begins with the same."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(12 - i, 11 - i) for i in range(5)])
        self.dropout = nn.Dropout(0.2)

    def forward(self, x):
        for layer in self.layers:
            x = self.dropout(F.gelu(layer(x)))
        return F.dropout(x[1:], 0.5, training=True)


@case((3, 12, 6, 6), (3, 12))
class Norms(nn.Module):
    def __init__(self):
        super().__init__()
        self.group, self.instance = nn.GroupNorm(3, 12), nn.InstanceNorm2d(6)
        self.layer, self.rms = nn.LayerNorm(5), nn.RMSNorm(7)
        self.second_group = nn.GroupNorm(2, 10)

    def forward(self, x, y):
        x = self.group(torch.mm(y, torch.ones(12, 12))[:, :, None, None] + x)
        z = self.instance(x[:, :6])
        z = self.layer(z[:, :, :, 1:])
        y = self.rms(torch.mm(y[1:], torch.ones(12, 7)))
        return self.second_group(x[:, 2:]), z, y
