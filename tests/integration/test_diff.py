"""castscope diff: what changed from one run to another, aligned by code."""

import json

import pytest
from gated import FINDS, RULE, TRAIN, have


@pytest.fixture
def runs(castscope, python):
    """Has runs of the text as it is, and as it became; returns the difference."""
    def difference(after, before=TRAIN):
        have(castscope, python, before, "a")
        have(castscope, python, after, "b")
        done = castscope("diff", "--exit-code", "-f", "json", "a.castscope", "b.castscope")
        return done.returncode, json.loads(done.stdout)
    return difference


def changes(told):
    return {(site["change"], (site["after"] or site["before"])["argument"]) for site in told["site_changes"]
            if not site["by_time_alone"]}


def test_the_same_run_and_an_edit_above_are_no_difference(runs, castscope):
    status, told = runs("# one line more\n" + TRAIN)
    assert status == 0 and not told["differs"] and changes(told) == set()
    text = castscope("diff", "a.castscope", "b.json").stdout.decode()
    assert "the same casts at the same places" in text


def test_a_finding_fixed_and_casts_saved(runs):
    status, told = runs(TRAIN.replace(".requires_grad_(False)", ""))
    assert status == 1 and ("cheaper", "weight") in changes(told)
    findings = told["finding_changes"]
    assert [finding["rule"] for finding in findings["fixed_findings"]] == [RULE] and findings["new_findings"] == []


def test_a_dtype_that_moved(runs):
    status, told = runs(TRAIN.replace("bfloat16", "float16"))
    moved = [site for site in told["site_changes"] if site["change"] == "moved"]
    dtypes = {(site["before"]["to_dtype"], site["after"]["to_dtype"]) for site in moved}
    assert status == 1 and dtypes == {("bfloat16", "float16")}
    assert {site["change"] for site in told["site_changes"]} == {"moved"}


def test_new_and_gone(runs, castscope):
    status, told = runs(TRAIN.replace(FINDS, f"{FINDS}\n                torch.randn(2, 3) @ torch.randn(3, 2)"))
    assert status == 1 and {change for change, _ in changes(told)} == {"new"}
    assert all("@" in site["after"]["source_text"] for site in told["site_changes"] if site["change"] == "new")
    back = json.loads(castscope("diff", "-f", "json", "b.castscope", "a.castscope").stdout)
    assert {change for change, _ in changes(back)} == {"gone"}
    assert castscope("diff", "b.castscope", "a.castscope").returncode == 0  # without --exit-code


def test_code_under_another_name_is_no_difference(runs, castscope):
    split = FINDS.replace("torch.randn(2, 32)", "x")
    in_two_lines = TRAIN.replace(FINDS, f"x = torch.randn(2, 32)\n{' ' * 16}{split}")
    for edited in (TRAIN.replace("train(", "fit("), in_two_lines):
        status, told = runs(edited)
        assert status == 0 and not told["differs"], told["site_changes"]
        assert {change for change, _ in changes(told)} == {"elsewhere"}
        [moved] = told["finding_changes"]["moved_findings"]
        assert moved["before"]["rule"] == moved["after"]["rule"] == RULE
        checked = castscope("check", "--baseline", "a.json", "b.castscope", "--fail-on", "info")
        assert checked.returncode == 0 and b"1 of them at another place" in checked.stdout, checked.stdout


def test_a_gate_names_what_fails(runs, castscope):
    def status_of(*kinds):
        return castscope("diff", "--fail-on", ",".join(kinds), "a.castscope", "b.castscope").returncode
    runs(TRAIN.replace(".requires_grad_(False)", ""))  # fewer casts, and a finding less
    assert status_of("any") == 1 and status_of("new-findings", "new-casts", "dtypes") == 0
    runs(TRAIN.replace("bfloat16", "float16"))
    assert status_of("dtypes") == 1 and status_of("new-casts") == 0
    wrong = castscope("diff", "--fail-on", "casts", "a.castscope", "b.castscope")
    assert wrong.returncode == 2 and b'"casts" is none of new-findings, new-casts, dtypes and any' in wrong.stderr


def test_longer_runs_of_the_same_code_are_no_difference(runs):
    trained = TRAIN.replace(".requires_grad_(False)", "").replace("model(torch.randn(2, 32))",
                                                                  "model(torch.randn(2, 32)).sum().backward()")
    status, told = runs(trained.replace("steps=3", "steps=30"), trained)
    assert told["total_changes"]["casts"]["after"] > 5 * told["total_changes"]["casts"]["before"]
    assert status == 0 and told["per_step"]


def test_runs_that_cannot_be_compared_are_no_pass(castscope, python):
    have(castscope, python, name="good")
    assert castscope("run", "-o", "nothing", "--", "true").returncode == 0
    for name, end in (("failed", "raise SystemExit(1)"), ("killed", "import os; os.kill(os.getpid(), 9)")):
        (castscope.folder / "train.py").write_text(f"{TRAIN}\n{end}\n")
        assert castscope("run", "-o", name, "--", python, "train.py").returncode != 0
    for pair, sentence in ((("nothing", "nothing"), "no process was seen that used PyTorch's autocast"),
                           (("good", "nothing"), "no process was seen that used PyTorch's autocast"),
                           (("good", "failed"), "the job failed (exit status 1)"),
                           (("killed", "good"), "the job failed (signal 9)")):
        files = [f"{name}.castscope" for name in pair]
        done = castscope("diff", "--exit-code", *files)
        assert done.returncode == 3 and sentence in " ".join(done.stdout.decode().split()), pair
        assert castscope("diff", *files).returncode == 0
        told = json.loads(castscope("diff", "-f", "json", *files).stdout)
        assert any(sentence in doubt for doubt in told["doubts"])
    assert castscope("diff", "--exit-code", "good.castscope", "good.json").returncode == 0


def test_what_cannot_be_read(castscope):
    done = castscope("diff", "gone.castscope", "also-gone.castscope")
    assert done.returncode == 3 and b"gone.castscope cannot be read" in done.stderr
    assert castscope("diff", "one.castscope").returncode == 2


MODEL = """\
import sys
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(8, 8)

    def forward(self, x):
        return self.fc(x)

model = Net()
if "train" in sys.argv:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        model(torch.randn(2, 8)).float().sum().backward()
else:
    with torch.inference_mode():
        model(torch.randn(2, 8))
"""


def test_a_trainer_and_an_engine_without_autocast_are_held_against_each_other(castscope, python):
    (castscope.folder / "net.py").write_text(MODEL)
    for name, options in (("train", []), ("engine", ["--deep", "always"]), ("blind", [])):
        done = castscope("run", "-o", name, *options, "--", python, "net.py", name)
        assert done.returncode == 0, done.stderr
    told = json.loads(castscope("diff", "-f", "json", "train.castscope", "engine.castscope").stdout)
    [moved] = told["precision_changes"]
    assert (moved["before"]["computed_in"], moved["after"]["computed_in"]) == ("bfloat16", "float32")
    text = " ".join(castscope("diff", "train.castscope", "blind.castscope").stdout.decode().split())
    assert "blind.castscope: no operator was looked at" in text


POSITIONS = """\
import contextlib
import sys
import castscope
import torch

layer = torch.nn.Linear(16, 16)
region = torch.autocast("cpu", dtype=torch.bfloat16) if "bf16" in sys.argv else contextlib.nullcontext()
with region:
    h = layer(torch.randn(600, 16))
    positions = torch.arange(len(h), dtype=h.dtype)
    out = torch.softmax(h.float() * positions[:, None].cos(), -1)
castscope.metric("loss", 3.25 if "bf16" in sys.argv else 1.5)
"""


def test_a_half_that_the_code_asked_for_is_told_before_what_the_lists_explain(castscope, python):
    (castscope.folder / "net.py").write_text(POSITIONS)
    for name in ("fp32", "bf16"):
        assert castscope("run", "-o", name, "--deep", "always", "--", python, "net.py", name).returncode == 0
    told = json.loads(castscope("diff", "-f", "json", "fp32.castscope", "bf16.json").stdout)
    assert [(one["after"]["operator"], one["after"]["half_from"]) for one in told["precision_changes"]] == [
        ("aten::arange", "code"), ("aten::cos", "arguments"), ("aten::linear", None)]
    assert all((one["before"]["computed_in"], one["after"]["computed_in"]) == ("float32", "bfloat16")
               for one in told["precision_changes"])
    assert told["metric_changes"] == [{"metric_name": "loss", "first_value": {"before": 1.5, "after": 3.25},
                                       "last_value": {"before": 1.5, "after": 3.25}}]
    text = " ".join(castscope("diff", "fp32.castscope", "bf16.castscope").stdout.decode().split())
    assert "arange: was float32, is bfloat16; the code asks for it" in text and "loss, last 1.5 3.25" in text
