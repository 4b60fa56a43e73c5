"""A model whose region is in its script, trained: steps, regions and casts are those of the same loop in eager code."""

import json
import sys

import jsonschema
import pytest
import runs
from reports import casts_by_cause

TRAINING = '''
import json
import sys
import torch

torch.manual_seed(0)
torch.set_num_threads(1)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(16, 16), torch.nn.Linear(16, 16)

    def forward(self, x):
        return x + self.b(torch.relu(self.a(x)))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList([Block(), Block()])
        self.head = torch.nn.Linear(16, 4)

    def forward(self, x, times: int):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            for block in self.blocks:
                x = block(x)
        if times > 100:
            with torch.autocast("cpu", dtype=torch.float16):
                x = torch.mm(x, x)
        for _ in range(times):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                x = self.head(x) @ torch.ones(4, 16)
        return x


def converted(events):
    """Of tensors, for TorchScript's casts: a conversion whose caller, or its caller, is one."""
    count = 0
    for event in events:
        parent = event.cpu_parent
        while event.name == "aten::_to_copy" and parent is not None:
            if parent.name.startswith("aten::_autocast_to_"):
                count += 1
                break
            parent = parent.cpu_parent
    return count


def train(net, optimizer):
    for _ in range(6):
        optimizer.zero_grad()
        for _ in range(2):
            net(torch.randn(3, 16), 2).float().pow(2).mean().backward()
        optimizer.step()
    with torch.no_grad():
        for _ in range(3):
            print(net(torch.ones(2, 16), 1).sum().item())


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
if sys.argv[1] == "script":
    net = torch.jit.script(net)
if len(sys.argv) < 3:
    train(net, optimizer)
else:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        train(net, optimizer)
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump(converted(profile.events()), file)
'''


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("script-steps")
    (folder / "train.py").write_text(TRAINING)
    return folder


@pytest.fixture(scope="module")
def ran(folder):
    """Returns the loop's runs under castscope, by how the model is run."""
    job = [sys.executable, str(folder / "train.py")]
    options = ("--deep", "2", "--summary=full")
    outcomes = {how: runs.under_castscope([*job, how], folder / how, *options) for how in ("eager", "script")}
    for outcome in outcomes.values():
        assert outcome.status == 0, outcome.stderr.decode()
        jsonschema.validate(outcome.report, json.loads(runs.SCHEMA.read_text()))
    return outcomes


def line_of(text):
    return 1 + TRAINING[: TRAINING.index(text)].count("\n")


def regions(report):
    """Returns the times entered, by line."""
    entered = {}
    for region in report["regions"]:
        line = region["location"]["line"]
        entered[line] = entered.get(line, 0) + region["entered"]
    return entered


def test_steps_are_those_of_eager_code(ran):
    eager, script = ran["eager"].report, ran["script"].report
    assert script["totals"]["step_count"] == eager["totals"]["step_count"] == 6
    assert script["totals"]["evaluation_count"] == eager["totals"]["evaluation_count"] == 3 * 2
    assert script["coverage"]["deep_steps"] == eager["coverage"]["deep_steps"] > 0
    assert script["coverage"]["deep_operators"] > 0


def test_regions_are_entered_as_often(ran):
    blocks = line_of("            for block in") - 1
    head = line_of("                x = self.head") - 1
    expected = {blocks: 6 * 2 + 3, head: 6 * 2 * 2 + 3}
    assert regions(ran["eager"].report) == expected
    assert regions(ran["script"].report) == expected  # never in the branch that is not taken
    for run in ran["script"].report["step_runs"]:
        assert run["regions_entered"] == (run["last_step"] - run["first_step"] + 1) * (6 if run["last_step"] < 6 else 1)


def test_the_totals_are_the_profilers(ran, folder):
    alone = runs.plain([sys.executable, str(folder / "train.py"), "script", str(folder / "tally")], folder / "alone")
    assert alone.status == 0, alone.stderr.decode()
    report = ran["script"].report
    sites = [site for site in report["sites"] if site["cause"] == "script"]
    casts = json.loads((folder / "tally").read_text())
    assert report["totals"]["casts"] == casts_by_cause(report)["script"] == casts > 0
    assert sum(site["casts"] for site in sites) == casts
    assert sum(site["bytes"] for site in sites) == report["totals"]["bytes"]
    assert sum(region["casts"] for region in report["regions"]) == casts
    assert alone.stdout == ran["script"].stdout
    assert f"{casts:,} casts by autocast ({casts:,} by TorchScript)" in " ".join(ran["script"].stderr.decode().split())


def test_modules_have_their_paths(ran):
    sites = [site for site in ran["script"].report["sites"] if site["cause"] == "script"]
    weights = {(site["model"], site["module"], site["module_type"]) for site in sites if site["argument"] == "weight"}
    blocks = {("Net", f"blocks.{number}.{name}", "Linear") for number in (0, 1) for name in ("a", "b")}
    assert weights == blocks | {("Net", "head", "Linear")}
    used = {row["module"] for row in ran["script"].report["weight_products"] if row["operator"] == "aten::linear"}
    assert {"blocks.0.a", "blocks.1.b", "head"} <= used


def test_casts_in_backward_name_the_operator_that_they_serve(ran):
    sites = [site for site in ran["script"].report["sites"] if site["cause"] == "backward" and site["casts"]]
    assert "DifferentiableGraphBackward" not in {site["operator"] for site in sites}
    assert ("aten::linear", "weight") in {(site["operator"], site["argument"]) for site in sites}


def layers(report, *operators):
    """Returns what each layer is given and computes in, and why it was not cast, by module and line."""
    return {(row["module"], row["operator"].split(".")[0], row["location"]["line"], row["computed_in"],
             row["result_dtype"], *((a["argument"], a["role"], a["given_dtype"], a["passed_dtype"], a["why_not_cast"])
                                    for a in row["arguments"]))
            for row in report["layers"]
            if row["phase"] == "forward" and row["operator"].split(".")[0].split("::")[1] in operators}


def test_layers_are_those_of_eager_code(ran):
    """A cast that a graph has before an operator is the operator's, as in eager code."""
    eager, script = ran["eager"].report, ran["script"].report
    assert layers(eager, "linear") == layers(script, "linear") != set()
    operators = {row["operator"] for row in script["layers"] if row["phase"] == "forward"}
    assert not {name for name in operators if name.startswith(("aten::_autocast_to", "aten::to", "aten::_to_copy"))}
    sentence = next(line for line in lines_of(ran["eager"]) if "the model's input" in line)
    assert sentence in lines_of(ran["script"])


def lines_of(outcome):
    return [line.strip() for line in outcome.stderr.decode().splitlines()]


NOTHING = '''
import torch
for _ in range(3):
    print((torch.arange(3) + 1).sum().item())
'''


def test_a_run_that_was_always_deep_gets_no_hint_to_make_it_so(tmp_path):
    (tmp_path / "job.py").write_text(NOTHING)
    job = [sys.executable, str(tmp_path / "job.py")]
    for options, told in (((), True), (("--deep", "always"), False)):
        outcome = runs.under_castscope(job, tmp_path / f"castscope{len(options)}", *options)
        text = " ".join(outcome.stderr.decode().split())
        assert "autocast was never asked to cast anything" in text
        assert ("--deep always" in text) == told
