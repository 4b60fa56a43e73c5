"""A policy's default_dtype: the dtype of regions that name none, as the job sees it."""

import json
import sys

import pytest

HALF = {"extends": "torch-cpu", "default_dtype": "float16"}


START = "layer, x = torch.nn.Linear(4, 4), torch.ones(2, 4)\n"


def told(ran):
    return [line.removeprefix("torch.") for line in ran.lines]


# The option gives it a run of its own, so that it is seen that there is no other region.
@pytest.mark.job(START + "with torch.autocast('cpu'):\n    print(layer(x).dtype)", policy=HALF,
                 options=("--deep", "always"))
def test_a_region_that_names_none_has_it(ran):
    assert told(ran) == ["float16"]
    [region] = ran.report["regions"]
    assert (region["region_dtype"], region["dtype_by_default"]) == ("float16", True)
    assert "policy-deviation" not in {finding["rule"] for finding in ran.report["findings"]}


@pytest.mark.job(START + "with torch.autocast('cpu', dtype=torch.bfloat16):\n    print(layer(x).dtype)", policy=HALF)
def test_a_region_that_names_one_keeps_it(ran):
    assert told(ran) == ["bfloat16"]


@pytest.mark.job(START + "with torch.autocast('cpu', dtype=torch.bfloat16):\n    layer(x)\n"
                "with torch.autocast('cpu'):\n    print(layer(x).dtype)", policy=HALF)
def test_it_holds_after_a_region_that_named_another(ran):
    assert told(ran) == ["float16"]


@pytest.mark.job(START + """
def used():
    with torch.autocast("cpu"):
        return layer(x).dtype
print(used())
torch.set_autocast_dtype("cpu", torch.bfloat16)
print(used())
with torch.autocast("cpu", dtype=torch.float16):
    pass
print(used())
""", policy=HALF)
def test_a_job_that_sets_its_own_keeps_it_from_then_on(ran):
    assert told(ran) == ["float16", "bfloat16", "bfloat16"]


@pytest.mark.job(START + """
import concurrent.futures, threading
def used(_):
    with torch.autocast("cpu"):
        return layer(x).dtype
torch.set_autocast_dtype("cpu", torch.bfloat16)  # of this thread alone
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    print(*set(pool.map(used, range(32))))
print(used(0))
def own():
    torch.set_autocast_dtype("cpu", torch.bfloat16)
    print(used(0))
thread = threading.Thread(target=own)
thread.start(), thread.join()
""", policy=HALF)
def test_every_thread_begins_with_it(ran):
    assert told(ran) == ["float16", "bfloat16", "bfloat16"]


@pytest.mark.job(START + """
import os, sys, threading
def tell():
    with torch.autocast("cpu"):
        print(layer(x).dtype, flush=True)
if os.fork() == 0:
    tell()
    thread = threading.Thread(target=tell)
    thread.start(), thread.join()
    os._exit(0)
os.wait()
""", policy=HALF)
def test_a_forked_process_has_it_in_all_threads(ran):
    assert told(ran) == ["float16", "float16"]


@pytest.mark.job(START + """
@torch.jit.script
def scripted(x, w):
    return torch.mm(x, w)
def plain(x):
    with torch.autocast("cpu"):
        return torch.mm(x, x.t())
w = torch.ones(4, 4)
with torch.autocast("cpu"):
    for _ in range(3):
        scripted(x, w)
    print(scripted(x, w).dtype)
    traced = torch.jit.trace(lambda x: torch.mm(x, x.t()), x)
    print(traced(x).dtype)
print(torch.compile(plain, backend="aot_eager")(x).dtype)
""", policy=HALF)
def test_scripted_and_compiled_code(ran):
    assert told(ran) == ["float16", "float16", "float16"]


@pytest.mark.job(START + """
@torch.jit.script
def scripted(x):
    with torch.autocast("cpu"):
        return torch.mm(x, x.t())
for _ in range(3):
    scripted(x)
print(scripted(x).dtype)
""", policy=HALF)
def test_a_region_in_a_script_that_names_none(ran):
    assert told(ran) == ["float16"]


@pytest.mark.job(START + """
@torch.jit.script
def scripted(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return torch.mm(x, x.t())
def plain(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return torch.mm(x, x.t())
for _ in range(3):
    scripted(x)
print(scripted(x).dtype)
print(torch.compile(plain, backend="aot_eager")(x).dtype)
""", policy=HALF)
def test_scripted_and_compiled_code_that_names_one(ran):
    assert told(ran) == ["bfloat16", "bfloat16"]


@pytest.mark.job(START + "with torch.autocast('cpu'):\n    print(layer(x).dtype)",
                 policy={"extends": "torch-cpu", "default_dtype": "float16", "dtype": "bfloat16"})
def test_the_policys_dtype_stands_above_it(ran):
    assert told(ran) == ["bfloat16"]


EVERYWHERE = {"device": "any", "default_dtype": "bfloat16", "operators": {"fp32": ["sum"]}}


@pytest.mark.parametrize(("policy", "dtypes"), [
    (HALF, "float16 float16 float16 float16"), ("torch-cpu", "bfloat16 float16 float16 float16"),
    ("ipex-xpu", "bfloat16 float16 bfloat16 float16"), ("torch-xpu", "bfloat16 float16 float16 float16"),
    (EVERYWHERE, "bfloat16 bfloat16 bfloat16 bfloat16")])
@pytest.mark.job("""
print(*(torch.get_autocast_dtype(device) for device in ("cpu", "cuda", "xpu", "mps")))
""")
def test_it_is_of_the_policys_device(ran, policy, dtypes):
    assert [line.replace("torch.", "") for line in ran.lines] == [dtypes]


ON_XPU = """
from torch._subclasses.fake_tensor import FakeTensorMode
def used(**options):
    with FakeTensorMode(), torch.autocast("xpu", **options):
        x = torch.empty(4, 4, device="xpu")
        return torch.nn.functional.linear(x, x).dtype
import threading
print(used(), used(dtype=torch.float16), used(dtype=torch.bfloat16))
threading.Thread(target=lambda: print(used())).start()
"""


@pytest.mark.parametrize("options", [(), ("--all-kernels",)])
@pytest.mark.parametrize(("policy", "default"), [("ipex-xpu", "bfloat16"), ("torch-xpu", "float16")])
@pytest.mark.job(ON_XPU)
def test_intels_default_is_bfloat16_and_pytorchs_float16(ran, policy, default, options):
    assert [line.replace("torch.", "") for line in ran.lines] == [f"{default} float16 bfloat16", default]


def test_observing_sets_nothing(castscope):
    (castscope.folder / "job.py").write_text("import torch\nprint(torch.get_autocast_dtype('cpu'))")
    (castscope.folder / "policy.json").write_text(json.dumps(HALF))
    done = castscope("run", "-o", "run", "--policy", "policy.json", "--", sys.executable, "job.py", text=True)
    assert done.stdout == "torch.bfloat16\n"


def test_a_run_is_held_against_it(castscope, python):
    (castscope.folder / "job.py").write_text("""
import torch
layer, x = torch.nn.Linear(4, 4), torch.ones(2, 4)
with torch.autocast("cpu"):
    layer(x)
with torch.autocast("cpu", dtype=torch.bfloat16):
    layer(x)
""")
    (castscope.folder / "policy.json").write_text(json.dumps(HALF))
    assert castscope("run", "-o", "run", "--policy", "policy.json", "--", python, "job.py").returncode == 0
    deviations = [finding for finding in castscope.report()["findings"] if finding["rule"] == "policy-deviation"]
    assert [(finding["title"], finding["location"]["line"]) for finding in deviations] == [
        ("this region names no dtype, and has PyTorch's default on cpu, bfloat16; policy.json says float16", 4)]


def test_the_commands_about_policies_know_it(castscope, enforce):
    told = castscope("policy", "check", "ipex-xpu", text=True)
    assert "bfloat16, of regions that name none" in told.stdout
    [checked] = json.loads(castscope("policy", "check", "-f", "json", "ipex-xpu", text=True).stdout)["policies"]
    assert checked["default_dtype"] == "bfloat16"
    explained = castscope("policy", "explain", "ipex-xpu", "linear", text=True).stdout
    assert "that the autocast region says, bfloat16 where it names none" in " ".join(explained.split())
    differences = json.loads(castscope("policy", "diff", "-f", "json", "torch-xpu", "ipex-xpu", text=True).stdout)
    assert {"setting": "default_dtype", "before": "not said", "after": "bfloat16"} in differences["setting_changes"]
    (castscope.folder / "job.py").write_text(
        "import torch\nwith torch.autocast('cpu'):\n    torch.mm(torch.ones(2, 2), torch.ones(2, 2))")
    enforce(HALF, "job.py")
    seen = castscope("policy", "from-run", "run.castscope", text=True).stdout
    assert '"default_dtype": "float16"' in seen
