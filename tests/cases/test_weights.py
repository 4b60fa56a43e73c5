"""Weights that are no longer torch.nn.Parameters where they are cast are still reported as weights."""

import pytest


def roles(report, **wanted):
    """Returns (operator, argument): roles for autocast's sites that have these values."""
    of = {}
    for site in report["sites"]:
        if site["cause"] == "autocast" and all(site[key] == value for key, value in wanted.items()):
            of.setdefault((site["operator"], site["argument"]), set()).add(site["role"])
    return of


FAST_PATH = """
    torch.backends.mha.set_fastpath_enabled({fast})
    layer = torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 2).eval()
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        for _ in range(8):
            model(torch.rand(2, 5, 32))
"""


@pytest.mark.job(FAST_PATH.replace("{fast}", "True"))
def test_what_a_native_operator_makes_of_a_weight(report):
    told = roles(report)
    products = {place: role for place, role in told.items() if place[1] == "mat2"}
    assert products and set().union(*products.values()) == {"weight"}, told
    assert all(role == {"activation"} for place, role in told.items() if place[1] == "mat1"), told
    # Without gradients nothing of it is cached: each pass casts every weight again.
    assert "weight-cast-repeatedly" in {finding["rule"] for finding in report["findings"]}


@pytest.mark.job(FAST_PATH.replace("{fast}", "False") + """
    class Attention(torch.nn.Module):
        def forward(self, x):
            return x @ (x * 2).transpose(1, 2)
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        Attention()(torch.rand(2, 5, 32))
""")
def test_a_product_of_two_interim_results_has_no_weight(report):
    told = roles(report)
    assert told["aten::linear", "weight"] == {"weight"}
    found = {role for place, role in roles(report, model="Attention").items() for role in role}
    assert found <= {"input", "activation"}


@pytest.mark.job("""
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    weights = {name: p.detach() for name, p in model.named_parameters()}
    def loss(weights, x):
        return torch.func.functional_call(model, weights, (x,)).sum()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for _ in range(3):
            torch.func.grad(loss)(weights, torch.rand(4, 8))
    """)
def test_weights_passed_by_functional_call_under_a_transform(report):
    told = roles(report, phase="forward")
    weights = {place: role for place, role in told.items() if place[1] in ("weight", "bias", "mat2", "self")}
    assert weights and set().union(*weights.values()) == {"weight"}, told
