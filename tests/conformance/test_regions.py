"""What a report says of autocast regions."""

import sys

import runs

# The dtype is changed by hand inside an open region, and back.
CHANGED_INSIDE = """
import torch
first, second, x = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4), torch.ones(2, 4)
with torch.autocast("cpu", torch.bfloat16):
    first(x)
    torch.set_autocast_dtype("cpu", torch.float16)
    x.double()
    second(x)
    torch.set_autocast_dtype("cpu", torch.bfloat16)
    first(x)
"""


def test_a_dtype_changed_inside_a_region_is_seen(tmp_path):
    outcome = runs.under_castscope([sys.executable, "-c", CHANGED_INSIDE], tmp_path / "run")
    assert outcome.status == 0, outcome.stderr.decode()
    dtypes = [region["dtype"] for region in outcome.report["regions"]]
    assert dtypes == ["bfloat16", "float16"]
    for site in outcome.report["sites"]:
        expected = "float16" if site["cause"] == "user_to" else site["to"]
        assert dtypes[site["region"] - 1] == expected
        assert site["why_not_cached"] != "other_dtype"
    assert (outcome.report["totals"]["casts"], outcome.report["totals"]["cache_hits"]) == (7, 2)
