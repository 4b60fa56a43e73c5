"""Layers' dtypes and the first screen, compared with what forward hooks of the job saw."""

import collections
import csv
import io
import json
import re
import sys

import pytest
from program import Castscope
from report_job import get, get_json

# A hook notes what each layer was given and gave back; every step is looked at.
HOOKED = """\
import collections, json
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.act = nn.GELU()
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(self.act(self.up(self.norm(x))))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 16)
        self.blocks = nn.ModuleList(Block(16) for _ in range(2))
        self.head = nn.Linear(16, 5)
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, ids):
        x = self.embed(ids)  # EMBED
        for block in self.blocks:
            x = block(x)
        return self.softmax(self.head(x))  # SOFTMAX


net, seen = Net(), collections.Counter()
names = {module: name for name, module in net.named_modules()}


def hook(module, given, result):
    seen[f"{names[module]} {given[0].dtype} {result.dtype}".replace("torch.", "")] += 1


for module in net.modules():
    if not list(module.children()):
        module.register_forward_hook(hook)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = net(torch.arange(12).view(2, 6)).float().square().sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
json.dump(seen, open("hooks.json", "w"))
"""

# One reason a line, each of an argument that autocast left alone.
REASONS = """\
import torch

a, b = torch.randn(8, 8), torch.randn(8, 8)
low, out = b.bfloat16(), torch.empty(8, 8)
for _ in range(3):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.mm(low, a)  # self already
        torch.mm(a.double(), b.double())  # self float64
        torch.mm(a, b, out=out)  # self in_place_or_out
        out.addmm_(a, b)  # mat1 in_place_or_out
        torch.relu(a)  # self not_listed
        torch.nn.functional.embedding(torch.tensor([1, 2]), a)  # indices integer
        with torch.autocast("cpu", enabled=False):
            torch.mm(a, b)  # self region_disabled
    torch.mm(a, b)  # self no_region
"""


def recorded(folder, text, *options):
    castscope = Castscope(folder)
    (folder / "job.py").write_text(text)
    castscope.done = castscope("run", "-o", "run", "--deep", "always", *options, "--", sys.executable, "job.py",
                               text=True)
    assert castscope.done.returncode == 0, castscope.done.stderr
    return castscope


@pytest.fixture(scope="module")
def hooked(tmp_path_factory):
    return recorded(tmp_path_factory.mktemp("hooked"), HOOKED)


@pytest.fixture(scope="module")
def report(hooked):
    return get_json(hooked, "json")


def line_of(text, mark):
    return next(number for number, line in enumerate(text.splitlines(), 1) if mark in line)


def flat(text):
    return re.sub(r"\s+", " ", text)


# The dtype that a layer was given: that of the first argument that is not a weight.
def given(layer):
    return next(one["given_dtype"] for one in layer["arguments"] if one["role"] != "weight")


def test_layers_are_what_hooks_see(hooked, report):
    seen = json.loads((hooked.folder / "hooks.json").read_text())
    told = collections.Counter()
    leaves = {key.split()[0] for key in seen}
    for layer in report["layers"]:
        if layer["phase"] == "forward" and layer["module"] in leaves:
            told[f"{layer['module']} {given(layer)} {layer['result_dtype']}"] += layer["calls"]
    assert told == seen
    assert "softmax bfloat16 bfloat16" in seen and report["totals"]["step_count"] == 3


def test_a_layer_says_what_entered_and_what_another_device_would_do(report):
    layers = {layer["module"]: layer for layer in report["layers"] if layer["phase"] == "forward"}
    head = {one["argument"]: (one["given_dtype"], one["passed_dtype"], one["why_not_cast"])
            for one in layers["head"]["arguments"]}
    assert head["input"] == ("float32", "bfloat16", None)
    assert head["weight"] == ("float32", "bfloat16", None)
    softmax = layers["softmax"]
    assert softmax["location"]["line"] == line_of(HOOKED, "# SOFTMAX")
    assert [one["why_not_cast"] for one in softmax["arguments"]] == ["not_listed"]
    assert softmax["elsewhere"]["cuda"] == "float32" and layers["head"]["elsewhere"] == {}


def test_every_form_has_the_layers(hooked, report):
    rows = list(csv.DictReader(io.StringIO(get(hooked, "csv-layers").decode())))
    arguments = [(layer["operator"], one) for layer in report["layers"] for one in layer["arguments"]]
    told = [(row["operator"], row["argument"], row["given_dtype"], row["why_not_cast"]) for row in rows]
    assert sorted(row for row in told if row[1]) == \
        sorted((op, one["argument"], one["given_dtype"], one["why_not_cast"] or "") for op, one in arguments)
    page, text = get(hooked, "html").decode(), get(hooked, "md").decode()
    assert "<h2>Layers</h2>" in page and "float32 on cuda, xpu and mps" in page
    assert "Layers' dtypes, in the 3 of 3 steps" in text and "| softmax | softmax | bfloat16 |" in text


def test_what_was_not_cast_has_a_line_and_a_reason(tmp_path):
    report = get_json(recorded(tmp_path, REASONS), "json")
    told = collections.defaultdict(set)
    for layer in report["layers"]:
        for one in layer["arguments"]:
            told[layer["location"]["line"]].add((one["argument"], one["why_not_cast"]))
    for number, line in enumerate(REASONS.splitlines(), 1):
        if "  # " in line:
            argument, reason = line.split("  # ")[1].split()
            assert (argument, reason) in told[number], (line, told[number])


def test_a_policy_excludes(tmp_path):
    job = ("import torch\nnet = torch.nn.Linear(4, 4)\n"
           "for _ in range(2):\n  with torch.autocast('cpu'):\n    net(torch.ones(2, 4))\n")
    report = get_json(recorded(tmp_path, job, "--enforce", "fp32-everything"), "json")
    reasons = {one["why_not_cast"] for layer in report["layers"] if layer["operator"] == "aten::linear"
               for one in layer["arguments"]}
    assert reasons == {"excluded"}


# --- the first screen -------------------------------------------------------------------------------------------------


def test_the_summary_fits_on_a_screen(hooked):
    _, *lines = hooked.done.stderr.splitlines()  # without the line that was said at the start
    assert len(lines) <= 25 and "\x1b" not in hooked.done.stderr
    assert lines[0].startswith("castscope: Casts take ")


def test_the_full_summary_answers(hooked, report):
    text = hooked("report", "--summary=full", "run.castscope", text=True).stderr
    roles = {one["role"]: one for one in report["roles"]}
    weights = roles["weight"]
    assert f"cast: weights {weights['casts']}" in flat(text)
    assert f", inputs {roles['input']['casts']}, activations {roles['activation']['casts']}, " in flat(text)
    assert f"activations {roles['activation']['casts']} (not parameters)" in flat(text)
    line = line_of(HOOKED, '# EMBED')
    assert f"the model's input: int64, which embedding, job.py:{line}, takes as it is" in flat(text)
    assert "what comes of it is first cast to bfloat16 for linear input" in flat(text)
    assert "computed: in bfloat16: " in text and "(3 of 3 steps looked at)" in flat(text)


def test_roles_add_up_to_the_totals(report):
    for key in ("casts", "cache_hits"):
        assert sum(one[key] for one in report["roles"]) + report["totals"]["beyond_sites"][key] == report["totals"][key]
    for one in report["roles"]:
        assert one["casts"] == one["kept"] + sum(one["not_kept"].values())


def test_the_first_call_of_each_place_is_left_out(hooked, report):
    assert all(0 < site["first_cpu_ns"] <= site["cpu_ns"] for site in report["sites"] if site["casts"] > 0)
    assert report["totals"]["first_cpu_ns"] == \
        sum(site["first_cpu_ns"] for site in report["sites"] if site["cause"] == "autocast")
    rows = list(csv.DictReader(io.StringIO(get(hooked, "csv").decode())))
    later = [int(row["cpu_ns"]) - int(row["first_cpu_ns"]) for row in rows]
    assert later == sorted(later, reverse=True)
    assert "but each place's first" in flat(hooked.done.stderr)


def test_where_each_place_cast_once_those_are_told(tmp_path):
    castscope = recorded(tmp_path,
                         "import torch\nwith torch.autocast('cpu'):\n  torch.mm(torch.ones(4, 4), torch.ones(4, 4))\n")
    text = castscope("report", "--summary=full", "run.castscope", text=True).stderr
    assert "costliest casts, by share of the CPU time of all casts\n" in text
    assert "the model's input: cast from float32" in text
