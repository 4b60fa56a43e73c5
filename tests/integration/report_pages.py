"""The HTML report of real runs in a real Chromium, for the tests that look at it: import what is used."""

import sys

import pytest

pytest.importorskip("playwright")
from program import ROOT, Castscope, clean_environment
from viewer_page import HAS_CHROMIUM, browser  # noqa: F401

HEADER = """
import os, signal, sys, torch
from torch import nn
torch.manual_seed(0)
torch.set_num_threads(1)

def train(net, data, steps):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(steps):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = net(data).float().pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
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


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The file of the report of one of JOBS; each job runs once."""
    files = {}

    def make(name):
        if name not in files:
            folder = tmp_path_factory.mktemp(name)
            castscope = Castscope(folder)
            (folder / "job.py").write_text(JOBS[name])
            castscope("run", *OPTIONS.get(name, []), "-o", "run", "--", sys.executable, "job.py",
                      env=clean_environment(PYTHONPATH=ROOT / "tests/workloads"))
            done = castscope("report", "-f", "html", "-o", "report.html", "run.castscope")
            assert done.returncode == 0, done.stderr
            files[name] = folder / "report.html"
        return files[name]

    return make


@pytest.fixture
def look(browser, made):  # noqa: F811
    """Opens the report of a job. What the page complains of fails the test."""
    browser.complaints.clear()
    pages = []

    def open_report(name, width=1600, height=900, scheme="light", **media):
        page = browser.open(made(name).as_uri(), width=width, height=height, scheme=scheme, ready=False)
        pages.append(page)
        if media:
            page.emulate_media(**media)
        return page

    yield open_report
    for page in pages:
        page.close()
    assert browser.complaints == []


def visible_text(page):
    return page.locator("body").inner_text()


def unfold(page):
    page.evaluate("() => document.querySelectorAll('details').forEach(one => { one.open = true; })")
