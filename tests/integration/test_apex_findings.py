"""Findings in code that is written for apex.amp, where its lists and its one long region decide."""

import pytest
from test_apex import with_castscope_amp  # noqa: F401 (a fixture)

MANY_WEIGHTS = """
from apex import amp
from torch import nn

class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = nn.ParameterList([nn.Parameter(torch.randn(8, 8)) for _ in range(24)])
    def forward(self, x):
        return torch.stack([nn.functional.linear(x, w) for w in self.weights])

amp_handle = amp.init()
net = Experts() if "{weights}" == "list" else nn.LSTM(8, 8, 2, bidirectional=True)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range({steps}):
    out = net(torch.randn(5, 2, 8))
    loss = (out if "{weights}" == "list" else out[0]).float().abs().mean()
    with amp_handle.scale_loss(loss, optimizer) as scaled_loss:
        scaled_loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


@pytest.mark.parametrize("steps", ["1", "4"])
@pytest.mark.parametrize("weights", ["list", "lstm"])
@pytest.mark.job(MANY_WEIGHTS, options=["--apex"])
def test_many_weights_of_one_line_are_no_growth(ran, weights, steps):
    assert ran.report["findings"] == []


@pytest.mark.job("""
from apex import amp
from torch import nn
amp_handle = amp.init()
layer, bias = nn.Linear(8, 8), nn.Parameter(torch.randn(8))
optimizer = torch.optim.SGD([*layer.parameters(), bias], lr=0.1)
for _ in range(4):
    optimizer.zero_grad()
    loss = (layer(torch.randn(4, 8)) + bias).abs().mean()
    with amp_handle.scale_loss(loss, optimizer) as scaled_loss:
        scaled_loss.backward()
    optimizer.step()
""", options=["--apex", "--deep", "always"])
def test_a_sum_that_promotes_is_told_as_one(ran):
    assert [finding["rule"] for finding in ran.report["findings"]] == ["dtype-silent-upcast"]
