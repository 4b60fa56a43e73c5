"""The graph of a step: on the page, and for Graphviz, of real models."""

import re
import shutil
import subprocess
import sys

import pytest
from program import Castscope
from report_job import get

MODELS = {
    "mlp": """
        model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4))
        data = torch.randn(4, 8)
    """,
    "transformer": """
        model = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 6,
                                      enable_nested_tensor=False)
        data = torch.randn(2, 5, 16)
    """,
    "residual": """
        class Block(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.conv1, self.conv2 = nn.Conv2d(n, n, 3, padding=1), nn.Conv2d(n, n, 3, padding=1)
                self.norm1, self.norm2 = nn.BatchNorm2d(n), nn.BatchNorm2d(n)
            def forward(self, x):
                y = torch.relu(self.norm1(self.conv1(x)))
                return torch.relu(self.norm2(self.conv2(y)) + x)
        model = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), Block(4), Block(4))
        data = torch.randn(2, 3, 8, 8)
    """,
    "island": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b, self.c = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 4)
            def forward(self, x):
                x = self.a(x)
                with torch.autocast("cpu", enabled=False):
                    x = self.b(x.float())
                return self.c(x)
        model = Net()
        data = torch.randn(4, 8)
    """,
}
# There is no optimizer of PyTorch's: the first one that is made imports torch._dynamo.
JOB = """
import torch
from torch import nn
{model}
for _ in range(3):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = model(data)
    loss = out.float().pow(2).mean()
    loss.backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= 0.1 * parameter.grad
            parameter.grad = None
"""


def job(model):
    lines = [line[8:] for line in MODELS[model].strip("\n").splitlines()]
    return JOB.replace("{model}", "\n".join(lines))


@pytest.fixture(params=sorted(MODELS), scope="module")
def drawn(request, tmp_path_factory):
    castscope = Castscope(tmp_path_factory.mktemp("drawn"))
    (castscope.folder / "job.py").write_text(job(request.param))
    done = castscope.run(sys.executable, "job.py")
    assert done.returncode == 0, done.stderr
    return request.param, get(castscope, "html").decode(), get(castscope, "dot").decode()


def test_casts_are_marked_and_every_link_has_its_place(drawn):
    name, page, dot = drawn
    begin = page.index("<h2>The graph of a step") + 4
    graph = page[begin:page.index("<h2>", begin)]
    links, places = set(re.findall(r'href="([^"]+)"', page)), re.findall(r'id="([^"]+)"', page)
    assert links and links <= {"#" + place for place in places} and len(places) == len(set(places))
    assert "f32→bf16" in graph and "f32→bf16" in dot
    assert ("weight, bias f32→bf16" in graph) or ("weight f32→bf16" in graph)
    if name == "island":  # its output is cast by a line of its own
        forward = graph[:graph.index("The backward pass")]
        assert re.search(r'class="mark"><title>[^<]*input of linear is cast float32 → bfloat16', forward)
    if name == "transformer":
        assert "Inside TransformerEncoder.layers.0" in graph and "Inside TransformerEncoder.layers.1" not in graph


def test_dot_draws_it(drawn, tmp_path):
    _, _, text = drawn
    outside = re.sub(r'"(\\.|[^"\\])*"', '""', text)
    assert outside.count("{") == outside.count("}") and '"' not in outside.replace('""', "")
    nodes = set(re.findall(r"^\s+(p\d+_\d+) \[", text, re.MULTILINE))
    edges = re.findall(r"^\s+(p\d+_\d+) -> (p\d+_\d+)", text, re.MULTILINE)
    assert edges and {end for edge in edges for end in edge} <= nodes
    if shutil.which("dot") is None:
        pytest.skip("Graphviz is not installed")
    (tmp_path / "graph.dot").write_text(text)
    done = subprocess.run(["dot", "-Tsvg", tmp_path / "graph.dot"], capture_output=True, timeout=300)
    assert done.returncode == 0 and done.stderr == b"" and b"<svg" in done.stdout
