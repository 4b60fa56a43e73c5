"""A job with findings, and its reports."""

import json

from reports import in_words

FORMS = ["json", "sarif", "html", "md", "csv", "csv-layers", "dot", "perfetto", "chrome", "speedscope"]

# A frozen weight is cast at each use (a finding at its line), a trained one is kept; a user's cast; three steps. There
# is no optimizer of PyTorch's: the first one that is made imports torch._dynamo, which takes as long as torch itself.
TRAIN = """\
import sys, threading
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.frozen = torch.nn.Linear(64, 64)
        self.frozen.requires_grad_(False)
        self.head = torch.nn.Linear(64, 8)

    def forward(self, x):
        x = self.frozen(x)  # FINDING
        x = self.frozen(x)  # ANOTHER
        return self.head(x)


def train(net, steps):
    for _ in range(steps):
        x = torch.ones(4, 64, dtype=torch.float64).to(torch.float32)
        with torch.autocast("cpu", torch.bfloat16):
            loss = net(x).float().sum()
        loss.backward()
        with torch.no_grad():
            for parameter in net.parameters():
                if parameter.grad is not None:
                    parameter -= 0.1 * parameter.grad
                    parameter.grad = None


train(Net(), 3)
worker = threading.Thread(target=train, args=(Net(), 2), name="worker")
worker.start()
worker.join()
"""


def record(castscope, python, text=TRAIN, name="train.py"):
    (castscope.folder / name).write_text(text)
    done = castscope.run(python, name)
    assert done.returncode == 0, done.stderr
    return castscope


def line_of(mark, text=TRAIN):
    return next(number for number, line in enumerate(text.splitlines(), 1) if mark in line)


def get(castscope, form, run="run.castscope"):
    done = castscope("report", "-f", form, run)
    assert done.returncode == 0, done.stderr
    return done.stdout


def get_json(castscope, form, run="run.castscope"):
    told = json.loads(get(castscope, form, run))
    return in_words(told) if form == "json" else told
