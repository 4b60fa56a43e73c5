"""The HTML report of real runs in a real Chromium, for the tests that look at it: import what is used."""

import functools
import pathlib
import sys
import tempfile

import pytest

pytest.importorskip("playwright")
from program import ROOT, Castscope, clean_environment
from viewer_page import HAS_CHROMIUM, browser  # noqa: F401

# There is no optimizer of PyTorch's: the first one that is made imports torch._dynamo, which takes a second.
HEADER = """
import os, signal, sys, torch
from torch import nn
torch.manual_seed(0)
torch.set_num_threads(1)

def train(net, data, steps):
    for _ in range(steps):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = net(data).float().pow(2).mean()
        loss.backward()
        with torch.no_grad():
            for parameter in filter(lambda one: one.requires_grad, net.parameters()):
                parameter -= 0.1 * parameter.grad
                parameter.grad = None
"""
# A network with two mistakes, of which the second has its two lines side by side and a third one far away.
TRAINING = HEADER + """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(32, 256), nn.Linear(256, 32)

    def forward(self, x):
        wide = torch.relu(self.up(x)).float()
        return self.down(wide)  # beside it

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Block(), Block())
        self.frozen = nn.Linear(32, 32).requires_grad_(False)
        self.tail = nn.Linear(32, 32)

    def forward(self, x):
        x = self.frozen(self.blocks(x))
        again = x.float()
        # A comment.
        # A comment.
        # A comment.
        # A comment.
        # A comment.
        # A comment.
        # A comment.
        # A comment.
        return self.tail(again) + self.frozen(x)

train(Net(), torch.randn(64, 32), 6)
"""
FIVE = HEADER + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(64, 64) for _ in range(5))

    def forward(self, x):
        x = self.layers[0](x)
        x = self.layers[1](x.float())
        # The next one.
        x = self.layers[2](x.float())
        # The next one.
        x = self.layers[3](x.float())
        # The next one.
        x = self.layers[4](x.float())
        # The next one.
        return self.layers[0](x.float())

train(Net(), torch.randn(256, 64), 6)
"""
MANY = """
import torch
torch.set_num_threads(1)
with open("generated.py", "w") as file:
    file.write("def run(x, w):\\n" + "    x = torch.nn.functional.linear(x, w).float()\\n" * 5000)
scope = {"torch": torch}
exec(compile(open("generated.py").read(), "generated.py", "exec"), scope)
x, w = torch.ones(4, 8), torch.ones(8, 8)
for _ in range(2):
    with torch.autocast("cpu", torch.bfloat16):
        scope["run"](x, w)
"""
# All casts are in compiled graphs, where nobody times them.
COMPILED = HEADER + """
model = nn.Sequential(nn.Linear(16, 16), nn.GELU(), nn.Linear(16, 16))

@torch.compile(backend="aot_eager")
def step(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return model(x).float().sum()

for _ in range(3):
    step(torch.ones(4, 16)).backward()
"""
# Two lines that call one function: its casts and its region have two ways in.
TWICE = HEADER + """
def inner(net, x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return net(x).float().sum()

net = nn.Linear(8, 8)
for _ in range(3):
    inner(net, torch.ones(2, 8)).backward()
    inner(net, torch.ones(4, 8)).backward()
"""
# Names as long as those of real projects, in folders as deep.
LONG = HEADER + """
import importlib.util, pathlib
FILE = pathlib.Path("experiments/language_models/attention_blocks/grouped_query_attention.py")
FILE.parent.mkdir(parents=True, exist_ok=True)
FILE.write_text('''import torch
class GroupedQueryAttentionWithRotaryEmbeddings(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.query_projection_of_all_heads = torch.nn.Linear(32, 32)
        self.output_projection_of_all_heads = torch.nn.Linear(32, 32).requires_grad_(False)

    def forward(self, hidden_states):
        wide = self.query_projection_of_all_heads(hidden_states).float()
        return self.output_projection_of_all_heads(wide) + self.output_projection_of_all_heads(hidden_states)
''')
spec = importlib.util.spec_from_file_location("grouped_query_attention", FILE)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
net = nn.Sequential()
net.add_module("transformer_layers", nn.Sequential(module.GroupedQueryAttentionWithRotaryEmbeddings()))
train(net, torch.randn(64, 32), 6)
"""
KILLED = TRAINING + "os.kill(os.getpid(), signal.SIGKILL)\n"
JOBS = {"training": TRAINING, "five": FIVE, "many": MANY, "compiled": COMPILED, "twice": TWICE, "killed": KILLED,
        "long": LONG, "empty": "import torch; torch.ones(3).sum()",
        "bert": (ROOT / "tests/workloads/bert.py").read_text()}
OPTIONS = {"bert": ["--deep", "always"]}


@functools.cache
def ran(name):
    """A folder in which one of JOBS was run as "run". Its report is there, too."""
    folder = tempfile.TemporaryDirectory()
    castscope = Castscope(pathlib.Path(folder.name))
    (castscope.folder / "job.py").write_text(JOBS[name])
    castscope("run", *OPTIONS.get(name, []), "-o", "run", "--", sys.executable, "job.py",
              env=clean_environment(PYTHONPATH=ROOT / "tests/workloads"))
    done = castscope("report", "-f", "html", "-o", "report.html", "run.castscope")
    assert done.returncode == 0, done.stderr
    return folder


def made(name, file="report.html"):
    """The report of one of JOBS, or another file that its run left; each job runs once."""
    return pathlib.Path(ran(name).name) / file


@pytest.fixture(scope="module")
def window(browser):  # noqa: F811
    """A page for one report after the other: they have no scripts, and leave nothing behind in it."""
    page = browser.open("about:blank", ready=False)
    yield page
    page.close()


@pytest.fixture
def look(browser, window):  # noqa: F811
    """Shows the report of a job. What the page complains of fails the test."""
    browser.complaints.clear()

    def show(name, width=1600, height=900, scheme="light", media="null", forced_colors="null"):
        window.set_viewport_size({"width": width, "height": height})
        window.emulate_media(media=media, color_scheme=scheme, forced_colors=forced_colors)
        window.goto("about:blank")
        window.goto(made(name).as_uri())
        return window

    yield show
    assert browser.complaints == []


def visible_text(page):
    return page.locator("body").inner_text()


def unfold(page):
    page.evaluate("() => document.querySelectorAll('details').forEach(one => { one.open = true; })")
