"""`castscope run --enforce`: a policy carried out in an unmodified job."""

import json
import subprocess
import sys

import pytest
from program import ROOT, clean_environment

WORKLOADS = ROOT / "tests" / "workloads"
DECIDED = f"""
import runpy, sys
sys.argv = [{str(WORKLOADS / "decided.py")!r}, "{{lower}}"]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
WRITTEN = DECIDED.replace("decided.py", "written_weights.py").replace('"{lower}"', '"{kind}", "{width}"')


def rules_found(report):
    return {finding["rule"] for finding in report["findings"]}


# ---------------------------------------------------------------------------------------------------- what it decides

MINE = {
    "extends": "torch-cpu",
    "operators": {
        "fp32": ["softmax.int"],
        "lower_precision_fp": ["roll", "mine::scale", "mine::twice"],
        "banned": {"bmm": "use matmul"},
        "promote": ["add.Tensor"],
        "fp32_set_opt_dtype": ["cumsum"],
        "fp32_append_dtype": ["norm.Scalar"],
    },
    "never_cast": {"mine::scale": ["rois"], "mine::twice": ["y"]},
    "modules": {"head": "fp32", "other": "passthrough"},
}


@pytest.mark.parametrize("options", [(), ("--all-kernels",)])
@pytest.mark.parametrize("lower", ["bfloat16", "float16"])
@pytest.mark.job(DECIDED, policy=MINE)
def test_every_part_of_a_policy_is_carried_out(ran, options, lower):
    assert ran.lines == [
        f"body {lower}", "head.fc float32", "head float32", "other float32",
        "softmax float32", "softmax given float64", "add float32", "norm float32", "cumsum float32", "cat float32",
        f"roll {lower}", "double float64", "out float32", "in place float32", "bmm raises use matmul",
        "rois float32", f"scale {lower}", f"twice {lower}", "y float32", f"twice with y {lower}",
        "off float32", "nested float16", f"back {lower}", "outside float32",
    ]
    assert "policy-deviation" not in rules_found(ran.report)  # what was recorded is what was asked for
    (ban,) = (finding for finding in ran.report["findings"] if finding["rule"] == "op-banned")
    assert ban["title"].startswith("bmm raised: the policy ")


@pytest.mark.parametrize("options", [(), ("--all-kernels",)])
def test_everything_in_float32(enforce, options):
    seen = dict(line.rsplit(" ", 1) for line in enforce("fp32-everything", WORKLOADS / "decided.py", options=options))
    assert {"float32"} == {seen[name] for name in ("body", "head", "softmax", "norm", "cumsum", "cat", "bmm", "nested")}
    assert (seen["double"], seen["softmax given"]) == ("float64", "float64")


def test_the_lower_precision_of_the_policy_stands_above_the_regions(castscope, enforce):
    (castscope.folder / "job.py").write_text("""
import torch
layer, x = torch.nn.Linear(8, 8), torch.randn(2, 8)
with torch.autocast("cpu", dtype=torch.bfloat16):
    layer(x)
    print(layer(x).dtype, torch.cat([layer(x), x]).dtype)
""")
    assert enforce({"extends": "torch-cpu", "dtype": "float16"}, "job.py") == ["torch.float16 torch.float32"]
    assert "cache-wrong-dtype" not in rules_found(castscope.report())


def test_another_policy_in_a_module(castscope, enforce):
    (castscope.folder / "soft.json").write_text('{"device": "cpu", "operators": {"fp32": ["linear"]}}')
    seen = enforce({"extends": "torch-cpu", "modules": {"head": "./soft.json"}}, WORKLOADS / "decided.py")
    assert seen[:3] == ["body bfloat16", "head.fc float32", "head float32"]


def test_a_policy_of_another_device_changes_nothing_and_is_told_to(castscope, enforce):
    """PyTorch's own behaviour stays, including its cache's mistakes: an entry of another dtype is returned, and
    raises."""
    observed = castscope.run(sys.executable, WORKLOADS / "decided.py", text=True)
    assert enforce("apex-o1", WORKLOADS / "decided.py") == observed.stdout.splitlines()
    [notice] = castscope.report()["run"]["notices"]
    assert "is for cuda, and autocast was used on cpu alone" in notice


MODULES = {"extends": "torch-cpu", "modules": {"b": "fp32", "no_such_module": "fp32"}}


@pytest.mark.job("""
x, y = torch.randn(2, 3, 4), torch.randn(2, 4, 5)
cell, state = torch.nn.LSTMCell(4, 4), torch.randn(3, 4)
with torch.autocast("cpu", dtype=torch.bfloat16):
    print(torch.einsum("bij,bjk->bik", x, y).dtype, torch.tensordot(x[0], y[0], 1).dtype, torch.inner(x, x).dtype,
          torch.linalg.multi_dot([x[0], y[0], y[0].t()]).dtype, cell(state)[0].dtype)
""", policy=MODULES)
def test_a_rule_for_a_module_changes_nothing_elsewhere(ran, enforce):
    """Operators that are made of others, and that another device's list names: their parts are cast as ever."""
    plain = enforce("torch-cpu", ran.script)
    assert ran.lines == plain
    assert "torch.bfloat16" in plain[0]


@pytest.mark.parametrize("first", ["m.a(x); m.b(x)", "wrapper(x)", "m(x)", "None"])
@pytest.mark.job("""
class Two(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
    def forward(self, x):
        seen.extend([self.a(x).dtype, self.b(x).dtype])
        return x
class Wrapper(torch.nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module
    def forward(self, x):
        return self.module(x)
m, x, seen = Two(), torch.randn(2, 4), []
wrapper = Wrapper(m)
with torch.autocast("cpu", dtype=torch.bfloat16):
    {first}
    seen.clear()
    m(x), wrapper(x), m(x)
low, full = torch.bfloat16, torch.float32
print(seen == [low, full, low, low, low, full])
""", policy=MODULES)
def test_a_modules_path_is_that_of_the_call_whatever_was_called_before(ran, first):
    assert ran.lines == ["True"]


# -------------------------------------------------------------------------------------------------- weights written

@pytest.mark.parametrize("kind", ["frozen", "trained"])
@pytest.mark.parametrize("width", [64, 512])
@pytest.mark.job(WRITTEN, policy="torch-cpu")
def test_no_stale_copy_whatever_writes(ran, kind, width):
    told = json.loads(ran.lines[-1])
    assert len(told) >= 19
    assert {name: seen for name, seen in told.items() if not all(seen.values())} == {}


def test_the_same_where_pages_cannot_be_tracked(castscope, enforce):
    # A process whose memory files are hidden has sums alone.
    (castscope.folder / "blind.py").write_text(f"""
import ctypes, runpy, sys
libc = ctypes.CDLL(None)
sys.argv = ["written_weights.py", "frozen", "512"]
class Filter(ctypes.Structure):
    _fields_ = [("code", ctypes.c_ushort), ("jt", ctypes.c_ubyte), ("jf", ctypes.c_ubyte), ("k", ctypes.c_uint)]
class Program(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.POINTER(Filter))]
USERFAULTFD = {{"x86_64": 323, "aarch64": 282}}[__import__("platform").machine()]
rules = (Filter * 4)(Filter(0x20, 0, 0, 0), Filter(0x15, 0, 1, USERFAULTFD), Filter(0x06, 0, 0, 0x00050001),
                     Filter(0x06, 0, 0, 0x7fff0000))
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.byref(Program(4, rules)), 0, 0) == 0
runpy.run_path({str(WORKLOADS / "written_weights.py")!r}, run_name="__main__")
""")
    told = json.loads(enforce("torch-cpu", "blind.py")[-1])
    assert {name: seen for name, seen in told.items() if not all(seen.values())} == {}


# -------------------------------------------------------------------------------------------------------- the cache

CACHED = """
import json, sys, torch
base = torch.nn.Linear(64, 64).requires_grad_(False)
trained = torch.nn.Linear(64, 64)
x = torch.randn(2, 64)
for _ in range(6):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        trained(base(base(x)))
"""


@pytest.mark.parametrize(("cache", "casts"), [
    ({}, 2 + 2 * 2),        # the frozen ones once, the others until they are seen to pay
    ({"keep": "region"}, 6 * 4),  # each once a region
    ({"frozen": False}, 6 * 4 + 2 * 2),
    ({"enabled": False}, 6 * 6),
    ({"max_bytes": 0}, 6 * 4 + 6 * 2),
])
def test_what_is_kept_and_how_long_and_the_policy_is_told(castscope, enforce, cache, casts):
    (castscope.folder / "job.py").write_text(CACHED)
    enforce({"extends": "torch-cpu", "cache": cache}, "job.py")
    of_inputs = 6
    report = castscope.report()
    assert report["totals"]["casts"] - of_inputs == casts
    told = report["run"]
    assert told["enforced_policy"] == "policy.json" and len(told["enforced_policy_hash"]) == 16


@pytest.mark.job("""
import os
torch.set_num_threads(1)
w = torch.nn.Parameter(torch.randn(256, 256), requires_grad=False)
x = torch.randn(2, 256)
def use():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return torch.nn.functional.linear(x, w)
def fresh():
    return torch.equal(use(), torch.nn.functional.linear(x.bfloat16(), w.bfloat16()))
use()
child = os.fork()
if child == 0:
    good = fresh()
    w.data.add_(1)
    good = good and fresh()
    os._exit(0 if good else 1)
w.data.mul_(3)
good = fresh()
_, status = os.waitpid(child, 0)
print(good and status == 0 and fresh())
""", policy="torch-cpu")
def test_a_forked_child_has_its_own(ran):
    assert ran.lines == ["True"]


@pytest.mark.job("""
import threading
torch.set_num_threads(1)
layers = [torch.nn.Linear(64, 64, bias=False).requires_grad_(i % 2 == 0) for i in range(8)]
x = torch.randn(2, 64)
wanted = [torch.nn.functional.linear(x.bfloat16(), layer.weight.bfloat16()) for layer in layers]
wrong = []
def work():
    for _ in range(200):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            for layer, want in zip(layers, wanted):
                if not torch.equal(layer(x), want):
                    wrong.append(layer)
threads = [threading.Thread(target=work) for _ in range(4)]
[t.start() for t in threads], [t.join() for t in threads]
print(len(wrong))
""", policy="torch-cpu")
def test_threads_share_copies(ran):
    assert ran.lines == ["0"]


# ------------------------------------------------------------------------ what PyTorch's own autocast gets wrong or not

@pytest.mark.job("""
torch.manual_seed(0)
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, fused=True)
x, losses = torch.randn(16, 8), []
with torch.autocast("cpu", dtype=torch.bfloat16):
    for _ in range(5):
        loss = torch.nn.functional.mse_loss(model(x).float(), x)
        losses.append(loss.item())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
print(losses == sorted(losses, reverse=True) and len(set(losses)) == 5)
""", policy="torch-cpu")
def test_fused_optimizer_within_one_region_learns(ran):
    assert ran.lines == ["True"]


@pytest.mark.job("""
layer, x = torch.nn.Linear(8, 8), torch.randn(2, 8)
with torch.autocast("cpu", dtype=torch.bfloat16), torch.no_grad():
    layer(x)
    other = torch.nn.Parameter(torch.zeros(8, 8))
    torch.utils.swap_tensors(layer.weight, other)
    print(torch.equal(layer(x), layer.bias.bfloat16().expand(2, 8)))
""", policy="torch-cpu")
def test_swapping_a_weight_within_a_region_works(ran):
    assert ran.lines == ["True"]


# -------------------------------------------------------------------------------------------------------- wrong input

@pytest.mark.parametrize(("text", "said"), [
    ('{"device": "cpu", "operators": {"fp32": ["sofmax"]}}', 'did you mean "softmax"?'),
    ('{"extends": "none.json"}', "none.json"),
    ('{"device": "tpu"}', "tpu"),
])
def test_no_job_starts_with_a_policy_that_is_not_understood(castscope, text, said):
    (castscope.folder / "bad.json").write_text(text)
    done = castscope("run", "--enforce", "bad.json", "--", sys.executable, "-c", "open('ran', 'w')", text=True)
    assert done.returncode != 0
    assert said in done.stderr and "the job is not started" in done.stderr
    assert not (castscope.folder / "ran").exists()


def test_enforcing_and_auditing_are_two_things(castscope):
    done = castscope("run", "--enforce", "torch-cpu", "--policy", "torch-cpu", "--", "true", text=True)
    assert done.returncode != 0
    assert "--policy" in done.stderr and "--enforce" in done.stderr


def test_compiled_graphs_are_the_policys_own(castscope, enforce):
    code = "import os; print(os.environ['TORCH_COMPILE_CACHE_KEY_TAG'])"
    [one] = enforce("torch-cpu", "-c", code)
    [other] = enforce("fp32-everything", "-c", code)
    assert one != other and one.startswith("castscope-")
    done = castscope("run", "--force", "-o", "run", "--enforce", "torch-cpu", "--", sys.executable, "-c", code,
                     text=True, env=clean_environment(TORCH_COMPILE_CACHE_KEY_TAG="mine"))
    assert done.stdout.strip() == "mine" + one


def test_rules_that_came_to_nothing_are_told_with_their_places(castscope, enforce):
    (castscope.folder / "mine.py").write_text("def attend(x):\n    return x.dtype\n")
    (castscope.folder / "job.py").write_text("""
import mine  # before torch: nobody listens yet
import torch
library = torch.library.Library("mylib", "DEF")
library.define("there(Tensor x) -> Tensor")
library.impl("there", lambda x: x.clone(), "CPU")
model = torch.nn.Sequential(torch.nn.Linear(4, 4))
with torch.autocast("cpu", dtype=torch.float16):
    print(model(torch.ones(2, 4)).dtype, mine.attend(torch.ones(2)), torch.ops.mylib.there(torch.ones(2)).dtype)
""")
    policy = {"extends": "torch-cpu", "dtype": "bfloat16",
              "modules": {"nowhere": "fp32", "torch.nn.Linear": "fp32"},
              "functions": {"mine:attend": "half", "mine:nothing": "half", "never.imported:f": "float"},
              "operators": {"lower_precision_fp": ["mylib::gone", "mylib::there"]}}
    # The settings of a policy hold for its functions too, whatever the region asks for.
    assert enforce(policy, "job.py") == ["torch.float32 torch.bfloat16 torch.bfloat16"]
    told = [notice for notice in castscope.report()["run"]["notices"] if "had no effect" in notice]
    text = json.dumps(policy)
    for name, notice in zip(["nowhere", "mine:nothing", "never.imported:f", "mylib::gone"], told, strict=True):
        assert notice.startswith(f"policy.json:1:{text.index(json.dumps(name)) + 1}: ") and name in notice


def test_an_argument_that_an_operator_does_not_have_is_told(castscope, enforce):
    """The arguments of operators that are not PyTorch's, which are defined in Python or C++, are known only in the
    job."""
    (castscope.folder / "job.py").write_text("""
import torch
torch.library.define("vision::roi_pool", "(Tensor input, Tensor rois, Tensor[] more, float scale) -> Tensor")
torch.library.impl("vision::roi_pool", "CompositeExplicitAutograd")(lambda input, rois, more, scale: input * scale)
with torch.autocast("cpu", dtype=torch.bfloat16):
    print(torch.ops.vision.roi_pool(torch.ones(2, 4), torch.ones(2, 5), [], 1.0).dtype)
""")
    policy = {"extends": "torch-cpu", "operators": {"lower_precision_fp": ["vision::roi_pool"]},
              "never_cast": {"vision::roi_pool": ["roi", "scale", "more"]}}
    assert enforce(policy, "job.py") == ["torch.bfloat16"]
    told = [notice for notice in castscope.report()["run"]["notices"] if "had no effect" in notice]
    place = json.dumps(policy).index('"vision::roi_pool": ["roi"') + 1
    end = " (it has input, more, rois): the never_cast rule had no effect"
    assert told == [
        f'policy.json:1:{place}: vision::roi_pool has no argument "roi" that holds a tensor; did you mean "rois"?{end}',
        f'policy.json:1:{place}: vision::roi_pool has no argument "scale" that holds a tensor{end}']


def test_a_job_that_castscope_does_not_start_is_enforced_too(castscope):
    (castscope.folder / "job.py").write_text("""
import torch
with torch.autocast("cpu", dtype=torch.bfloat16):
    print(torch.mm(torch.ones(2, 2), torch.ones(2, 2)).dtype)
""")
    done = castscope("env", "-o", "bare", "--enforce", "fp32-everything", "--", sys.executable, text=True)
    assert done.returncode == 0, done.stderr
    (castscope.folder / "job.env").write_text(done.stdout)
    job = subprocess.run(["bash", "-c", f". ./job.env; {sys.executable} job.py"], cwd=castscope.folder,
                         env=clean_environment(), capture_output=True, text=True, timeout=300,
                         check=False)
    assert (job.returncode, job.stdout) == (0, "torch.float32\n"), job.stderr
    refused = castscope("env", "--enforce", "fp32-evrything", "--", sys.executable, text=True)
    assert refused.returncode == 2 and "fp32-everything" in refused.stderr and refused.stdout == ""
