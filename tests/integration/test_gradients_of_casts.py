"""What backward casts names the cast in the forward pass whose gradient it converts."""

from collections import Counter

import pytest

SETUP = """\
import threading
from torch.utils.checkpoint import checkpoint
torch.manual_seed(0)
first, second = torch.nn.Linear(16, 16), torch.nn.Linear(16, 16)
x = torch.randn(4, 16)
"""
# Each line of the forward pass casts what its comment says, once a step.
FORWARD = """\
def forward(x):
    y = first(x)  # weight, bias; x needs no gradient
    y = y.to(torch.float32)  # to
    return second(y).float()  # weight, bias, input; to
def step():
    with torch.autocast("cpu", torch.bfloat16):
        loss = forward(x).sum()
"""


def gradients(report):
    """How many casts in backward convert gradients of which casts: (line, argument or "to") → casts."""
    sites = {site["site"]: site for site in report["sites"]}
    found = Counter()
    for site in report["sites"]:
        if site["cause"] != "backward":
            continue
        forward = sites.get(site["forward_site"])
        found[forward and (forward["location"]["line"], forward["argument"] or "to")] += site["casts"]
    return dict(found)


SETUP_LINES = 1 + len(SETUP.splitlines())  # a program begins with `import torch`


def per_step(steps):
    at = SETUP_LINES
    casts = [(2, "weight"), (2, "bias"), (3, "to"), (4, "weight"), (4, "bias"), (4, "input"), (4, "to")]
    return {(at + line, what): steps for line, what in casts}


@pytest.mark.job(SETUP + FORWARD + """\
    loss.backward()
for _ in range(3):
    step()
""")
def test_each_gradient_names_its_cast(ran):
    assert gradients(ran.report) == per_step(3)


@pytest.mark.job(SETUP + FORWARD + """\
    return loss
for loss in [step() for _ in range(3)]:  # as accumulated, or a pipeline's, backward
    loss.backward(retain_graph=True)
    loss.backward()
""")
def test_graphs_that_wait_and_are_run_again(ran):
    assert gradients(ran.report) == per_step(6)


@pytest.mark.job(SETUP + FORWARD + """\
    loss.backward()
threads = [threading.Thread(target=step) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
""")
def test_threads_that_number_their_nodes_alike(ran):
    assert gradients(ran.report) == per_step(4)


@pytest.mark.job(SETUP + FORWARD + """\
    loss.backward()
for _ in range(3):
    step()
""", policy="torch-cpu")
def test_copies_that_a_policy_keeps_over_steps(ran):
    """A kept copy is served with a node of its own for each use; its gradient belongs to the cast that made the copy,
    whatever step that was in."""
    assert gradients(ran.report) == per_step(3)


SCRIPTED = SETUP + """\
@torch.jit.script
def product(x, w):
    return torch.mm(x, w)
w = torch.randn(16, 16, requires_grad=True)
for _ in range(5):
    with torch.autocast("cpu", torch.bfloat16):
        y = product(x, w)
    y.float().sum().backward()
"""


def test_what_a_script_casts_in_backward_stands_at_its_line(castscope, python):
    (castscope.folder / "job.py").write_text("import torch\n" + SCRIPTED)
    assert castscope.run(python, "job.py").returncode == 0
    told = castscope("report", "--summary=full", "run.castscope", text=True)
    assert "in backward\n" not in told.stdout + told.stderr


@pytest.mark.job(SETUP + """\
def forward(x):
    return second(torch.relu(first(x)))
with torch.autocast("cpu", torch.bfloat16):
    loss = checkpoint(forward, x, use_reentrant=False).float().sum()
loss.backward()
""")
def test_a_checkpoint_that_computes_anew(ran):
    """Backward follows the graph of the first pass; the second one's casts are autocast's own."""
    at = SETUP_LINES
    assert gradients(ran.report) == {(at + 2, "weight"): 2, (at + 2, "bias"): 2, (at + 4, "to"): 1}


@pytest.mark.job(SETUP + """\
with torch.autocast("cpu", torch.bfloat16):
    y = first(x)
x.requires_grad_()
for _ in range(70_000):
    x.to(torch.bfloat16)
y.float().sum().backward()
""")
def test_a_cast_is_forgotten_after_very_many_others(ran):
    """Its gradient is counted, and names no cast: none is better than a wrong one."""
    at = SETUP_LINES
    assert gradients(ran.report) == {None: 2, (at + 6, "to"): 1}
