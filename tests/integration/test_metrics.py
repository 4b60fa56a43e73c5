"""castscope.metric: numbers of the steps, from the job to its reports."""

import json
import subprocess

import pytest
from program import ROOT, clean_environment

LOOP = """\
import castscope
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=2)
x = torch.ones(4, 8)
def train(step, factor=1.0):
    with torch.autocast("cpu", torch.float16):
        loss = model(x).float().square().mean() * factor
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    return loss.item()
def evaluate():
    with torch.no_grad(), torch.autocast("cpu", torch.float16):
        return model(x).float().mean().item()
"""


def values(metric):
    return [(one["step"], one["metric_value"]) for one in metric["step_values"]]


@pytest.mark.job(LOOP + """
for step in range(5):
    value = train(step, float("inf") if step == 3 else 1.0)
    castscope.metric("loss", 7)  # the last one of a step counts
    castscope.metric("loss", value)
    print(value)
""")
def test_the_loss_and_the_scale_of_gradients(ran):
    loss, scale = ran.report["metrics"]
    told = [float(line) for line in ran.lines]
    assert (loss["metric_name"], loss["told_values"], loss["missing_values"]) == ("loss", 10, 0)
    assert values(loss) == [(step, None if step == 3 else told[step]) for step in range(5)]
    assert (loss["not_finite_values"], loss["first_not_finite_step"]) == (1, 3)
    assert (scale["metric_name"], scale["metric_source"]) == ("gradient scale", "GradScaler")
    assert values(scale) == [(0, 1024), (1, 1024), (2, 2048), (3, 2048), (4, 1024)]


@pytest.mark.job(LOOP + """
for step in range(3):
    castscope.metric("loss", train(step))
    castscope.metric("validation", evaluate())
""")
def test_evaluations_have_steps_of_their_own(ran):
    loss, validation, _ = ran.report["metrics"]
    assert [step for step, _ in values(loss)] == [0, 2, 4]
    assert [step for step, _ in values(validation)] == [1, 3, 5]


REFUSED = """
import castscope, decimal
for value in (torch.tensor(1.0), "1", None, decimal.Decimal(1), torch.ones(2).numpy()):
    try:
        castscope.metric("loss", value)
    except TypeError as error:
        print(error)
for name in (1, ""):
    try:
        castscope.metric(name, 1.0)
    except TypeError as error:
        print(error)
"""
TAKEN = """
import castscope, fractions
numpy = torch.ones(1).numpy()
for value in (2, True, fractions.Fraction(1, 2), numpy[0], numpy.mean(), 10 ** 400, -10 ** 400):
    castscope.metric("taken", value)
    castscope.step()
"""


@pytest.mark.job(REFUSED)
def test_what_is_no_number_is_refused_with_a_sentence(ran):
    tensor, text, none, decimal, array, *names = ran.lines
    assert tensor == ("castscope.metric('loss', …) takes a Python number, not a Tensor: to read it would wait for the "
                      "device; give .item() where the job reads it anyway")
    assert text == "castscope.metric('loss', …) takes a Python number, not a str"
    assert none.endswith("not a NoneType") and decimal.endswith("not a Decimal") and "not a ndarray" in array
    assert names == [f"castscope.metric: the name of a metric is a text, not {name!r}" for name in (1, "")]
    assert ran.report is None  # nothing was told: there is nothing to record


@pytest.mark.job(TAKEN)
def test_any_real_number_is_taken(ran):
    [taken] = ran.report["metrics"]
    assert [value for _, value in values(taken)] == [2, 1, 0.5, 1, 1, None, None]
    assert taken["not_finite_values"] == 2


def test_without_castscope_it_does_nothing_but_refuse_tensors(python, tmp_path):
    done = subprocess.run([python, "-c", "import torch\n" + REFUSED + TAKEN + "print('done')"], capture_output=True,
                          text=True, cwd=tmp_path, env=clean_environment(PYTHONPATH=ROOT / "agent/python"), check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "done" and "takes a Python number, not a Tensor" in done.stdout


def test_jsonl_has_each_value(python, castscope):
    job = "import castscope, torch\nfor i in range(3): castscope.metric('loss', i / 2)\n"
    assert castscope("run", "--keep", "all", "-o", "run", "--", python, "-c", job).returncode == 0
    told = castscope("report", "-f", "jsonl", "run.castscope", text=True).stdout.splitlines()
    events = [event for event in map(json.loads, told) if event["event_kind"] == "metric"]
    assert [event["metric_value"] for event in events] == [0, 0.5, 1]
    assert {event["fact_text"] for event in events} == {"loss"}
