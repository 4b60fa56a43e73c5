"""Under the enforced default policies each operator of autocast's lists does what it does without castscope.

The calls are made in processes of their own, by every_operator.py in its short form; scripts/conformance makes all of
them. All ways to enforce the policy of the CPU are tried, and one of each other device; with CONFORMANCE=whole in the
environment, all. PyTorch's own lists are in test_pytorch_lists.py, which runs by itself, too.
"""

import copy
import json
import pathlib
import re
import subprocess
import sys

import compare_operators
import enforcement
import generated_calls
import length
import pytest
import runs

HERE = pathlib.Path(__file__).parent
ENFORCED = [("cpu", "enforce"), ("cpu", "all-kernels"), ("cuda", "enforce"), ("xpu", "all-kernels"), ("mps", "enforce")]
if length.WHOLE:
    ENFORCED = [(key, way) for key in enforcement.DEFAULT for way in enforcement.WAYS]


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    """The command that makes the calls. What Inductor's generated code becomes is compiled once for all that have it
    word for word."""
    caches = tmp_path_factory.mktemp("caches")
    return lambda output, *options: [sys.executable, str(HERE / "every_operator.py"), str(output), "--short",
                                     "--caches", str(caches), *options]


@pytest.fixture(scope="module")
def stock(calls, tmp_path_factory):
    folder = tmp_path_factory.mktemp("stock")
    return enforcement.written(runs.plain(calls(folder / "calls.json"), folder / "run"), folder / "calls.json")


@pytest.mark.parametrize("key", enforcement.DEFAULT)
def test_every_operator_of_the_dispatcher_is_called(key, stock):
    assert list(stock["keys"][key]) == generated_calls.operators(key)
    modes = {"dispatcher", "python", "outside"} | ({"script", "trace", "vmap", "forward AD", "checkpoint", "aot_eager"}
                                                   if key == "cpu" else {"make_fx"})
    assert all(modes <= set(results) for results in stock["keys"][key].values())


@pytest.mark.parametrize("key", enforcement.DEFAULT)
def test_every_call_would_show_what_autocast_does(key, stock):
    assert not compare_operators.unmoved(stock["keys"][key])


@pytest.mark.parametrize(("key", "way"), ENFORCED)
def test_every_operator_does_the_same(key, way, calls, stock, tmp_path):
    outcome = enforcement.under_enforcement(calls(tmp_path / "calls.json", "--keys", key), tmp_path / "run",
                                            enforcement.DEFAULT[key], *enforcement.WAYS[way])
    found = compare_operators.differences(stock, enforcement.written(outcome, tmp_path / "calls.json"), way)
    assert not found, "\n".join(map(str, found[:20]))


# Autocast has no part in these; vmap makes bmm of mm before autocast sees it.
WITHOUT_AUTOCAST = {"outside", "make_fx outside", "disabled", "vmap"}


@pytest.mark.parametrize(("key", "way"), ENFORCED)
def test_another_policy_is_seen(key, way, calls, stock, tmp_path):
    """The other policy shows in every mode, for the operator that it is about, and for no other."""
    few = {"aten::mm", "aten::baddbmm", "aten::l1_loss"}
    command = calls(tmp_path / "calls.json", "--keys", key, "--operators", ",".join(few).replace("aten::", ""))
    outcome = enforcement.under_enforcement(command, tmp_path / "run", enforcement.deviating(tmp_path, key),
                                            *enforcement.WAYS[way])
    other = enforcement.written(outcome, tmp_path / "calls.json")
    before = stock | {"keys": {key: {operator: stock["keys"][key][operator] for operator in few}}}
    found = compare_operators.differences(before, other, way)
    assert {one.operator for one in found} == {"aten::mm"}
    assert {one.mode for one in found} == set(before["keys"][key]["aten::mm"]) - WITHOUT_AUTOCAST


@pytest.mark.parametrize("change", ["other bits", "one missing", "one more"])
def test_a_difference_is_a_difference(change, stock, tmp_path):
    other = copy.deepcopy(stock)
    variants = other["keys"]["cpu"]["aten::linear"]["python"]
    if change == "other bits":
        variants["float32, bf16"] += "0"
    elif change == "one missing":
        del variants["float32, bf16"]
    else:
        variants["float32, fp8"] = "bfloat16 00"
    [found] = compare_operators.differences(stock, other, "enforce")
    assert (found.key, found.operator, found.mode) == ("cpu", "aten::linear", "python")
    for way, content in {"stock": stock, "enforce": other, "all-kernels": stock}.items():
        (tmp_path / f"cpu.{way}.json").write_text(json.dumps(content | {"keys": {"cpu": content["keys"]["cpu"]}}))
    table = tmp_path / "table.md"
    done = subprocess.run([sys.executable, HERE / "conformance_report.py", tmp_path, "--markdown", table], check=False,
                          capture_output=True, text=True)
    assert done.returncode == 1 and "linear, python, float32" in done.stdout
    assert len(re.findall("differs: enforce", table.read_text())) == 1


LISTS = [sys.executable, str(HERE / "test_pytorch_lists.py")]


@pytest.mark.parametrize("way", enforcement.WAYS)
def test_pytorchs_own_lists(way, tmp_path):
    outcome = enforcement.under_enforcement(LISTS, tmp_path / "run", enforcement.DEFAULT["cpu"], *enforcement.WAYS[way])
    assert outcome.status == 0 and b"OK" in outcome.stderr, outcome.stderr.decode()


@pytest.mark.parametrize("way", enforcement.WAYS)
def test_pytorchs_own_lists_know_another_policy(way, tmp_path):
    outcome = enforcement.under_enforcement(LISTS, tmp_path / "run", enforcement.deviating(tmp_path),
                                            *enforcement.WAYS[way])
    assert outcome.status == 1, outcome.stderr.decode()
    assert b"autocast for torch.mm produced torch.float32" in outcome.stderr
