"""Segmentation with skip connections, a Dice loss in float32, and a float16 gradient scaler (Pytorch-UNet)."""

import torch
import torch.nn.functional as F
from torch import nn


class DoubleConv(nn.Sequential):
    def __init__(self, cin, cout):
        super().__init__(nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
                         nn.Conv2d(cout, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.inc, self.down1, self.down2 = DoubleConv(3, 8), DoubleConv(8, 16), DoubleConv(16, 16)
        self.up1, self.up2, self.outc = DoubleConv(32, 8), DoubleConv(16, 8), nn.Conv2d(8, classes, 1)

    @staticmethod
    def join(x, skip):
        x = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True)
        return torch.cat([skip, x], dim=1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(F.max_pool2d(x1, 2))
        x3 = self.down2(F.max_pool2d(x2, 2))
        x = self.up1(self.join(x3, x2))
        return self.outc(self.up2(self.join(x, x1)))


def dice_loss(probabilities, target):
    inter = 2 * (probabilities * target).sum(dim=(-1, -2))
    sets = probabilities.sum(dim=(-1, -2)) + target.sum(dim=(-1, -2))
    return 1 - ((inter + 1e-6) / (sets + 1e-6)).mean()


@torch.inference_mode()
def evaluate(net):
    net.eval()
    with torch.autocast("cpu", dtype=torch.float16):
        for _ in range(2):
            mask = net(torch.rand(1, 3, 16, 16)).argmax(dim=1)
            F.one_hot(mask, 3).permute(0, 3, 1, 2).float().mean()
    net.train()


net = UNet()
optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-4, weight_decay=1e-8, momentum=0.9)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
for _ in range(2):
    for _ in range(3):
        images, masks = torch.rand(2, 3, 16, 16), torch.randint(0, 3, (2, 16, 16))
        with torch.autocast("cpu", dtype=torch.float16):
            predicted = net(images)
        loss = F.cross_entropy(predicted.float(), masks) + dice_loss(
            predicted.float().softmax(dim=1), F.one_hot(masks, 3).permute(0, 3, 1, 2).float())
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    evaluate(net)
