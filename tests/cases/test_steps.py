"""Which steps are training steps, counted by the loops themselves: each optimizer step is an update.

The loops are written in the way of public training programs: nanoGPT, open_clip, distillation, GANs and others.
"""

import pytest

LOOP = """\
import torch
from torch import nn
torch.manual_seed(0)
torch.set_num_threads(1)
net, x = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4)), torch.randn(3, 8)
optimizer = torch.optim.SGD(net.parameters(), 0.01)
def region(dtype=torch.bfloat16):
    return torch.autocast("cpu", dtype=dtype)
def loss_of(net=net):
    with region():
        y = net(x)
    return y.float().square().mean()
def update():
    loss_of().backward()
    optimizer.step()
    optimizer.zero_grad()
@torch.no_grad()
def evaluate(batches):
    for _ in range(batches):
        with region():
            net(x)
"""


def steps(report):
    return report["totals"]["step_count"], report["totals"]["evaluation_count"]


@pytest.mark.job(LOOP + """
for iteration in range(13):
    if iteration % 4 == 0:
        evaluate(3)
    for micro in range(5):  # accumulation
        loss_of().backward()
    optimizer.step()
    optimizer.zero_grad()
evaluate(2)
""")
def test_evaluations_and_micro_batches_are_no_steps(report):
    assert steps(report) == (13, 4 * 3 + 2)


@pytest.mark.job(LOOP + """
for _ in range(3):
    update()
    evaluate(1)
update()
""")
def test_an_evaluation_of_one_batch_is_apart(report):
    assert steps(report) == (4, 3)


@pytest.mark.job(LOOP + """
for _ in range(6):
    with torch.no_grad():
        for _ in range(2):
            with region():
                features = net(x)
    for _ in range(2):
        with region():
            y = net(x)
        (y.float() * features.float()).mean().backward()
    optimizer.step()
""")
def test_features_made_first_are_part_of_the_step(report):
    """Only in the first step are they taken for evaluations, since they might be that."""
    assert steps(report) == (6, 2)


@pytest.mark.job(LOOP + """
teacher = nn.Linear(8, 4).requires_grad_(False)
for _ in range(6):
    with torch.no_grad(), region():
        wanted = teacher(x)
    with region():
        y = net(x)
    (y.float() - wanted.float()).square().mean().backward()
    optimizer.step()
""")
def test_a_teacher_is_part_of_the_step(report):
    assert steps(report) == (6, 0)


@pytest.mark.job(LOOP + """
other = nn.Linear(8, 8)
both = [optimizer, torch.optim.AdamW(other.parameters())]
for _ in range(5):
    with region():
        y = net(other(x))
    y.float().sum().backward()
    for one in both:
        one.step()
""")
def test_several_optimizers_are_one_step(report):
    assert steps(report) == (5, 0)


@pytest.mark.job(LOOP + """
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16)
for step in range(6):
    with region(torch.float16):
        y = net(x)
    loss = y.float().mean() * (float("inf") if step == 2 else 1.0)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
""")
def test_a_step_that_the_scaler_skips_is_one(report):
    assert steps(report) == (6, 0)


@pytest.mark.job(LOOP + """
evaluate(7)
""")
def test_without_training_outermost_regions_are_steps(report):
    assert steps(report) == (7, 0)


@pytest.mark.job(LOOP + """
import castscope
for _ in range(4):
    update()
    evaluate(2)
    castscope.step()
""")
def test_the_jobs_own_steps_win(report):
    """The evaluation before the first of them is apart."""
    assert steps(report) == (4, 2)


@pytest.mark.job(LOOP + """
for _ in range(3):
    update()
for _ in range(4):
    loss_of()  # with gradients, and without backward
""")
def test_forward_passes_with_gradients_that_nothing_follows_are_an_evaluation(report):
    assert steps(report) == (3, 1)


@pytest.mark.job(LOOP + """
step = torch.compile(optimizer.step, backend="eager")
for iteration in range(6):
    loss_of().backward()
    step()
    if iteration == 3:
        evaluate(2)
""")
def test_the_last_step_of_a_compiled_optimizer_is_one(report):
    assert steps(report) == (6, 2)
