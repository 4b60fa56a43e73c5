"""Tensors that are not plain memory: castscope must let the job pass, and count what it sees as it is.

The expected numbers follow from the workload's text: each is worked out in the comment beside it.
"""

import sys

import pytest
import runs
import sharing
from reports import casts_by_cause

CASES = {
    # nn.Linear in autocast: the rows, the weight, the bias. 5 * 4 values, 4 * 4, 4.
    "nested": {"casts": 3, "bytes": 2 * (5 * 4 + 4 * 4 + 4), "by_cause": {"user_to": 1}},
    "jagged": {"casts": 3, "bytes": 2 * (5 * 4 + 4 * 4 + 4), "by_cause": {"user_to": 1}},
    # 10 and 16 values of the sparse ones; 30000 and 16 of the dense ones
    "sparse": {"casts": 4, "bytes": 2 * (10 + 30000 + 16 + 16)},
    "meta": {"casts": 0, "by_cause": {"user_to": 1}},
    "mkldnn": {"casts": 2, "bytes": 2 * (16 + 16)},
    "inference": {"casts": 2, "bytes": 2 * (16 + 16)},
    # by the size that the wrapper shows
    "wrapper": {"casts": 2, "bytes": 2 * (16 + 16)},
    # Python is not asked for a size
    "sizes_from_python": {"casts": 2, "bytes": 0},
    # The graph runs three times: both factors of the product, and the gradient that autograd casts back.
    "functional_grad": {"casts": 3 * 2, "by_cause": {"backward": 3}, "traced": 8},
    "functional_jvp": {"casts": 2, "bytes": 2 * (16 + 16), "traced": 10},
    # A compiled graph makes no calls. The wrapper holds two tensors, and the product has two factors: three runs.
    "compiled_wrapper": {"casts": 0, "bytes": 0, "traced": 8, "by_cause": {"compiled": 2 * 2 * 3}},
    # The workload's own .to, and what the mode made of four results.
    "watched": {"casts": 2, "by_cause": {"user_to": 1 + 4}},
}


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """What castscope saw of each case."""
    folder = tmp_path_factory.mktemp("odd")
    programs = [f"odd_tensors.py {case}" for case in CASES]
    alone = runs.plain(sharing.command(programs), folder / "alone")
    assert alone.status == 0, alone.stderr.decode(errors="replace")
    traced, parts = sharing.under_castscope(programs, folder / "castscope")
    assert traced.stdout == alone.stdout
    return dict(zip(CASES, parts, strict=True))


@pytest.mark.parametrize("case", CASES)
def test_the_job_passes_and_the_counts_are_true(case, parts):
    expected = {"by_cause": {}} | CASES[case]
    totals = parts[case]["totals"] | {"by_cause": casts_by_cause(parts[case])}
    assert {key: totals[key] for key in expected} == expected


# Forward-mode AD runs additions of mixed dtypes in Python, by the decomposition of aten::add.Tensor.
FORWARD_MODE = """
import torch
net, x = torch.nn.Linear(4, 4), torch.randn(3, 4)
with torch.autocast("cpu", dtype=torch.bfloat16):
    torch.func.jvp(net, (x,), (torch.ones(3, 4),))
    torch.func.jacfwd(net)(x[0])
    torch.func.jvp(lambda a: a.half(), (x,), (torch.ones(3, 4),))
"""


def test_what_pytorchs_python_converts_for_an_operator_is_no_conversion_of_the_users(tmp_path):
    outcome = runs.under_castscope([sys.executable, "-c", FORWARD_MODE], tmp_path / "run")
    assert outcome.status == 0, outcome.stderr.decode()
    decomposed = [site for site in outcome.report["sites"] if "/torch/_prims_common/" in site["stack"][0]]
    assert {site["location"]["line"] for site in decomposed} == {5, 6}
    assert {(site["cause"], site["operator"]) for site in decomposed} == {("operator", "aten::add.Tensor")}
    asked = [(site["location"]["line"], site["casts"]) for site in outcome.report["sites"]
             if site["cause"] == "user_to"]
    assert asked == [(7, 1)]
