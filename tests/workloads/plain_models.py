"""Models that go through every mode: a ResNet in plain PyTorch; and a small BERT of Hugging Face, which cannot be
scripted."""

import torch


class Block(torch.nn.Module):
    """A block of a ResNet, in plain PyTorch."""

    def __init__(self, channels):
        super().__init__()
        self.first = torch.nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = torch.nn.BatchNorm2d(channels)
        self.second = torch.nn.Conv2d(channels, channels, 3, padding=1, bias=False)

    def forward(self, x):
        y = torch.relu(self.norm(self.first(x)))
        return torch.relu(x + self.second(y))


class ResNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = torch.nn.Conv2d(3, 16, 3, padding=1)
        self.blocks = torch.nn.ModuleList([Block(16) for _ in range(3)])
        self.head = torch.nn.Linear(16, 10)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean([2, 3])).softmax(-1)


def bert():
    from transformers import BertConfig, BertModel
    config = BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
                        intermediate_size=64, attn_implementation="eager", return_dict=False)
    return BertModel(config).eval(), torch.randint(0, 100, (2, 8))


def resnet():
    return ResNet(), torch.randn(2, 3, 16, 16)
