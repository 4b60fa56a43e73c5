"""What was looked at operator by operator, what was not, and how far each rule could judge."""

import json

import pytest

# A model that runs often, and then once another whose code brings a value to float32 in vain.
LATE = """\
import sys, torch
from torch import nn

class First(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(20))
    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x

class Second(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(8, 8), nn.Linear(8, 8)
    def forward(self, x):
        h = self.up(x)
        h = h.float()
        return self.down(h)

first, second, x = First(), Second(), torch.randn(4, 8)
with torch.autocast("cpu", dtype=torch.bfloat16):
    for _ in range(int(sys.argv[1])):
        first(x)
    second(x)
"""


def record(castscope, python, name, *options, forwards=5):
    (castscope.folder / "late.py").write_text(LATE)
    done = castscope("run", "-o", name, *options, "--", python, "late.py", forwards)
    assert done.returncode == 0, done.stderr
    return castscope.report(name)


def rules_of(report):
    return {finding["rule"] for finding in report["findings"]}


def test_new_code_is_looked_at(castscope, python):
    report = record(castscope, python, "early")
    assert "cast-undoes-float" in rules_of(report)
    coverage = report["coverage"]
    assert coverage["sites_not_looked_at"] == [] and coverage["modules_not_looked_at"] == []
    assert coverage["first_step_not_looked_at"] is None
    assert {rule["judged"] for rule in coverage["rules"]} == {"full"}


@pytest.mark.parametrize("forwards", [400, 1200])
def test_new_code_is_looked_at_however_late_it_comes(castscope, python, forwards):
    report = record(castscope, python, "late", forwards=forwards)
    assert "cast-undoes-float" in rules_of(report)
    assert any(row["model"] == "Second" for row in report["weight_products"])
    coverage = report["coverage"]
    assert coverage["first_step_not_looked_at"] == {"process": 1, "step": 0}
    # By its first cast code is known to be new: the operator that makes it had begun by then.
    assert [site["module"] for site in report["sites"] if site["looked_at"] is False] == ["up"] * 3
    judged = {rule["rule"]: rule for rule in coverage["rules"]}
    assert judged["cast-undoes-float"] == {
        "rule": "cast-undoes-float", "judged": "partly",
        "because": "3 of 48 places of casts were in no step that was looked at operator by operator"}
    assert judged["cache-grows"]["judged"] == "full"


# No weight changes, and there is no optimizer: the first one that is made imports torch._dynamo.
OVERFLOWS = """
import torch

model = torch.nn.Linear(8, 8)
for step in range(60):
    x = torch.ones(4, 8) * (1e6 if step == 40 else 1.0)
    with torch.autocast("cpu", torch.float16):
        loss = model(x).float().sum()
    loss.backward()
    model.zero_grad()
"""


def test_what_only_a_step_does_that_was_not_looked_at_is_not_called_clean(castscope, python):
    (castscope.folder / "overflows.py").write_text(OVERFLOWS)
    for name, deep in ("auto", "automatic"), ("always", "always"):
        options = [] if deep == "automatic" else ["--deep", deep]
        assert castscope("run", "-o", name, *options, "--", python, "overflows.py").returncode == 0
    assert "dtype-overflow" in rules_of(castscope.report("always"))
    found = castscope.report("auto")
    assert "dtype-overflow" not in rules_of(found)
    (overflow,) = (rule for rule in found["coverage"]["rules"] if rule["rule"] == "dtype-overflow")
    assert overflow["judged"] == "sampled"
    looked = found["coverage"]["deep_steps"]
    assert overflow["because"] == f"{looked} of 60 steps were looked at operator by operator" and looked < 10

    told = castscope("check", "auto.castscope", text=True)
    assert told.returncode == 0
    assert f"judged a sample of the steps: {looked} of 60 steps" in " ".join(told.stdout.split())
    fixed = castscope("diff", "--exit-code", "always.castscope", "auto.castscope", text=True)
    assert fixed.returncode == 3 and "it may have missed 1 finding of" in " ".join(fixed.stdout.split())
    known = castscope("check", "-f", "json", "--baseline", "always.castscope", "auto.castscope")
    assert "dtype-overflow" in {one["rule"] for one in json.loads(known.stdout)["unseen_after"]}
    new = castscope("check", "-f", "json", "--fail-on", "info", "--baseline", "auto.castscope", "always.castscope")
    assert new.returncode == 0 and "dtype-overflow" in {one["rule"] for one in json.loads(new.stdout)["unseen_before"]}


def test_a_run_that_looked_at_nothing_says_so_everywhere(castscope, python):
    looked = record(castscope, python, "looked", "--deep", "always")
    blind = record(castscope, python, "blind", "--deep", "never")
    assert looked["run"]["recording"]["deep"] == "always" and blind["run"]["recording"]["deep"] == "never"
    assert "cast-undoes-float" not in rules_of(blind)
    judged = {rule["rule"]: rule for rule in blind["coverage"]["rules"]}
    assert judged["cast-undoes-float"] == {
        "rule": "cast-undoes-float", "judged": "not",
        "because": "no step was looked at operator by operator: --deep never"}
    assert judged["cache-blocks-swap"]["judged"] == "full"
    assert len(blind["coverage"]["sites_not_looked_at"]) == blind["coverage"]["sites_to_look_at"] > 0

    unable = sum(rule["judged"] == "not" for rule in judged.values())
    told = f"{unable} of {len(judged)} rules could not judge the run: no step was looked at operator by operator: "
    told += "--deep never."
    for form in "md", "html":
        assert told in " ".join(castscope("report", "-f", form, "blind.castscope").stdout.decode().split())
    assert told in " ".join(castscope("report", "--summary", "blind.castscope").stderr.decode().split())
    for kind in "castscope", "json":
        files = f"looked.{kind}", f"blind.{kind}"
        check = castscope("check", files[1])
        text = " ".join(check.stdout.decode().split())
        assert check.returncode == 0 and f"{files[1]} clean, as far as rules could judge" in text
        assert "cast-undoes-float" in text
        assert castscope("check", "--require-deep", files[1]).returncode == 3
        assert castscope("check", "--require-deep", files[0]).returncode == 0
        difference = json.loads(castscope("diff", "-f", "json", *files).stdout)
        assert difference["finding_changes"]["fixed_findings"] == []
        assert [finding["rule"] for finding in difference["finding_changes"]["unseen_after"]] == ["cast-undoes-float"]
        assert castscope("diff", "--exit-code", *files).returncode == 3
        gate = castscope("check", "-f", "json", "--fail-on", "info", "--baseline", files[1], files[0])
        gate = json.loads(gate.stdout)
        assert gate["failing_findings"] == []
        assert [finding["rule"] for finding in gate["unseen_before"]] == ["cast-undoes-float"]
