"""Code written for apex.amp under castscope: as it stands with --apex, and with castscope.amp by its own name."""

import sys

import pytest
from program import ROOT, clean_environment

sys.path.insert(0, str(ROOT / "tests"))
import sharing
from reports import casts_by_cause

LOOPS = ROOT / "tests" / "workloads" / "apex_loops.py"
ITERATIONS = 4
SCALED = ["basic", "without_caching", "verbose", "clipped", "wrapped", "two_optimizers", "two_optimizers_in_turn",
          "two_losses", "accumulated", "overflowing", "overflowing_wrapped", "casts_disabled", "cells", "annotated"]


@pytest.fixture
def job(castscope):
    """Runs code, or a file with arguments. Returns its report. `options` are castscope's."""
    def run(code, *arguments, options=()):
        if isinstance(code, str):
            (castscope.folder / "job.py").write_text(code)
            code = "job.py"
        done = castscope("run", "--force", "-o", "run", *options, "--", sys.executable, code, *arguments, text=True,
                         env=clean_environment(PYTHONPATH=ROOT / "agent" / "python"))
        assert done.returncode == 0, done.stderr
        report = castscope.report()
        report["stdout"], report["stderr"] = done.stdout, done.stderr
        return report
    return run


def found(report):
    return [(finding["rule"], finding["title"]) for finding in report["findings"]]


# ------------------------------------------------------------------------------------------------- steps, no findings

# On PyTorch's lists for the CPU: no cell is among them, so that its first state, which PyTorch makes in float32, takes
# what it computes in lower precision up to float32. apex's lists have cells: with --apex there is nothing to find.
WITH_PYTORCHS_LISTS = [("dtype-silent-upcast", "cells")]


@pytest.mark.parametrize(("dtype", "option", "right"), [
    ("", (), WITH_PYTORCHS_LISTS), ("float16", (), WITH_PYTORCHS_LISTS), ("", ("--apex",), [])],
    ids=["bfloat16", "float16", "as it stands with apex"])
def test_a_loop_has_as_many_steps_as_iterations_and_nothing_is_found(tmp_path, monkeypatch, dtype, option, right):
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "agent" / "python"))
    loops = SCALED + ["initialized"] * bool(option)
    outcome, parts = sharing.under_castscope([f"{LOOPS} {loop} {dtype}" for loop in loops], tmp_path / "run",
                                             "--deep", "always", *option)
    assert {loop: part["totals"]["step_count"] for loop, part in zip(loops, parts, strict=True)} == dict.fromkeys(
        loops, ITERATIONS)
    assert [(finding["rule"], finding["location"]["function"]) for finding in outcome.report["findings"]] == right
    policy = outcome.report["run"]["enforced_policy"]
    assert policy == ("apex-o1-any" if option else None)


def test_a_loop_without_scale_loss_has_its_steps_too(job):
    """The loop's behaviour is reported: backward under autocast, and that the cache was cleared by hand after each
    step."""
    report = job(LOOPS, "by_hand", options=["--deep", "always"])
    assert report["totals"]["step_count"] == ITERATIONS
    findings = {finding["rule"]: finding for finding in report["findings"]}
    assert set(findings) == {"region-contains-backward", "region-spans-steps"}
    assert findings["region-contains-backward"]["severity"] == "warning"
    assert "scale_loss" in findings["region-contains-backward"]["fix"]
    spans = findings["region-spans-steps"]
    assert spans["severity"] == "info"
    assert spans["title"].endswith(f"its cache was cleared {ITERATIONS} times meanwhile, and no hit gave a copy of a "
                                   "weight from before the latest step")


def test_the_step_ends_where_it_does_with_torch_amp(job):
    """The casts of each step, against the same loop on autocast itself."""
    plain = job("""
import torch
import torch.nn.functional as F
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(5):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = F.mse_loss(model(torch.randn(4, 8)), torch.randn(4, 1))
    loss.backward()
    optimizer.step()
""")
    handled = job("""
import torch
import torch.nn.functional as F
from castscope import amp
from torch import nn
torch.manual_seed(0)
handle = amp.init()
model = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(5):
    optimizer.zero_grad()
    loss = F.mse_loss(model(torch.randn(4, 8)), torch.randn(4, 1))
    with handle.scale_loss(loss, optimizer) as scaled_loss:
        scaled_loss.backward()
    optimizer.step()
""")
    casts = [[(run["first_step"], run["last_step"], run["casts"]) for run in report["step_runs"]]
             for report in (plain, handled)]
    assert sum(last - first + 1 for first, last, _ in casts[0]) == 5
    assert sum(last - first + 1 for first, last, _ in casts[1]) == 5
    assert sum(count for *_, count in casts[0]) == sum(count for *_, count in casts[1])


# -------------------------------------------------------------------------------------------------- annotations

ANNOTATED = """
import torch
from castscope import amp, float_function, half_function, never_cast, promote_function

@half_function
def fru(input, weight, *rest, bias=None):
    return input @ weight + bias

@float_function
def norm(value):
    return value.sum()

@never_cast("rois")
def pool(features, rois):
    return features.sum(), rois.sum()

handle = amp.init()
weight, bias = torch.nn.Parameter(torch.eye(4)), torch.zeros(4)
for _ in range(3):
    out = fru(torch.ones(2, 4), weight, bias=bias)  # half
norm(out)  # float
pool(out, torch.ones(2, dtype=torch.bfloat16))  # never
"""


def test_casts_of_annotations_have_function_argument_line_and_role(job):
    report = job(ANNOTATED)
    line = {word: number for number, text in enumerate(ANNOTATED.splitlines(), 1) for word in ("half", "float", "never")
            if text.endswith(f"# {word}")}
    sites = {(site["operator"], site["argument"]): site for site in report["sites"] if site["cause"] == "annotation"}
    seen = {key: (site["location"]["line"], site["from_dtype"], site["to_dtype"], site["role"], site["casts"],
                  site["cache_hits"]) for key, site in sites.items()}
    assert seen == {
        ("fru", "input"): (line["half"], "float32", "bfloat16", "input", 3, 0),
        ("fru", "weight"): (line["half"], "float32", "bfloat16", "weight", 1, 2),
        ("fru", "bias"): (line["half"], "float32", "bfloat16", "weight", 3, 0),
        ("norm", "value"): (line["float"], "bfloat16", "float32", "activation", 1, 0),
        ("pool", "features"): (line["never"], "bfloat16", "float32", "activation", 1, 0),
    }
    assert (report["totals"]["casts"], report["totals"]["cache_hits"]) == (9, 2)
    assert casts_by_cause(report) == {"annotation": 9}
    assert "9 casts by autocast, 2 cache hits" in report["stderr"]


def test_annotations_are_counted_like_what_a_dispatch_mode_sees(job):
    """As many copies as an independent count has, whatever the arguments are nested in."""
    report = job("""
import torch
from castscope import half_function, promote_function
from torch.utils._python_dispatch import TorchDispatchMode

class Count(TorchDispatchMode):
    casts = 0
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        if function is torch.ops.aten._to_copy.default and result.dtype != args[0].dtype:
            Count.casts += 1
        return result

@half_function
def takes(first, *others, **named):
    return first

class Block(torch.nn.Module):
    def forward(self, pairs):
        return [x * 2 for x in pairs["x"]]

half_function(Block)
widest = promote_function(lambda a, b: a + b)
x, low = torch.ones(2, 2), torch.ones(2, 2, dtype=torch.bfloat16)
with Count(), torch.autocast("cpu", dtype=torch.bfloat16):
    takes(x, x, [x, (x, low)], key={"a": x, "b": 1})
    Block()({"x": [x, x, low]})
    widest(x, low)
    takes(low, low)
print(Count.casts)
""")
    assert int(report["stdout"]) == casts_by_cause(report)["annotation"] == 8
    places = {(site["operator"], site["argument"]): site["casts"] for site in report["sites"]
              if site["cause"] == "annotation"}
    assert places == {("takes", "first"): 1, ("takes", "others"): 3, ("takes", "key"): 1, ("Block.forward", "pairs"): 2,
                      ("<lambda>", "b"): 1}


def test_what_pytorchs_own_python_casts_is_not_the_users(job):
    report = job("""
import torch
x = torch.ones(2, 2, requires_grad=True)
scaler = torch.amp.GradScaler("cpu")
optimizer = torch.optim.SGD([x], lr=0.1)
scaler.scale(x.sum()).backward()
scaler.step(optimizer)
scaler.update()
torch.testing.assert_close(torch.ones(2), torch.ones(2, dtype=torch.bfloat16), check_dtype=False)
model = torch.nn.Linear(2, 2).to(torch.bfloat16)
model.float()
torch.ones(2).half()
torch.ops.aten.to.dtype(torch.ones(2), torch.bfloat16)
with torch.device("cpu"):
    torch.ones(2).double()
""")
    by_cause = casts_by_cause(report)
    assert by_cause["user_to"] == 2 + 2 + 3 and set(by_cause) == {"user_to", "pytorch"}
    assert {site["operator"] for site in report["sites"] if site["cause"] == "pytorch"} == {"aten::to"}


# -------------------------------------------------------------------------------------------------- --apex

def test_apex_is_castscope_amp_where_none_is_installed(job):
    report = job("""
import apex.amp
from apex import amp
import castscope.amp
import importlib.util
print(amp is castscope.amp is apex.amp, importlib.util.find_spec("apex") is not None)
for name in ("parallel", "optimizers", "nonsense"):
    try:
        __import__("apex." + name)
    except ImportError as error:
        print(error)
try:
    from apex import amp, optimizers
except ImportError as error:
    print(error)
print(hasattr(apex, "optimizers"))
""", options=["--apex"])
    first, parallel, optimizers, nonsense, by_name, has = report["stdout"].splitlines()
    assert (first, by_name, has) == ("True True", optimizers, "False")
    assert parallel.endswith("stands in for apex.amp alone; write torch.nn.parallel.DistributedDataParallel, or "
                             "torch.nn.SyncBatchNorm instead")
    assert "torch.optim" in optimizers and nonsense.endswith("stands in for apex.amp alone")
    assert "apex is installed" not in report["stderr"]


def test_an_apex_that_is_installed_is_left_alone(job, castscope):
    (castscope.folder / "apex").mkdir()
    (castscope.folder / "apex" / "__init__.py").write_text("amp = 'its own'\n")
    report = job("from apex import amp\nimport apex, torch\nprint(amp)\n", options=["--apex"])
    assert report["stdout"] == "its own\n"
    assert report["stderr"].count("apex is installed") == 1


def test_a_folder_of_that_name_is_no_apex(job, castscope):
    (castscope.folder / "apex").mkdir()
    report = job("from apex import amp\nimport torch\nprint(amp.__name__)\n", options=["--apex"])
    assert report["stdout"] == "castscope.amp\n"


def test_without_the_option_nothing_stands_in(job):
    report = job("""
import torch
try:
    import apex
except ImportError as error:
    print(error)
""")
    assert report["stdout"] == "No module named 'apex'\n"


LISTS = """
import torch
import torch.nn.functional as F
from apex import amp
amp.init()
x, low = torch.rand(2, 4), torch.rand(2, 4, dtype=torch.bfloat16)
print(torch.mm(x, x.t()).dtype, torch.exp(low).dtype, F.softmax(low, 1).dtype, F.mse_loss(low, low).dtype,
      (low + x).dtype, torch.relu(low).dtype)
"""


def test_apexs_lists_decide_and_not_pytorchs(job):
    low, full = "torch.bfloat16", "torch.float32"
    report = job(LISTS, options=["--apex"])
    assert report["stdout"].split() == [low, full, full, full, full, low]
    report = job(LISTS.replace("apex", "castscope"))
    assert report["stdout"].split() == [low, low, low, full, full, low], "PyTorch's lists for the CPU"


def test_another_policy_may_be_given_with_it(job):
    report = job(LISTS, options=["--apex", "--enforce", "fp32-everything"])
    assert report["stdout"].split()[0] == "torch.float32"


THREADS = """
import concurrent.futures, threading
import torch
from apex import amp

def product():
    return str(torch.mm(torch.ones(2, 2), torch.ones(2, 2)).dtype)

class Own(threading.Thread):
    def run(self):
        self.seen = product()

pool = concurrent.futures.ThreadPoolExecutor(1)
before = pool.submit(product).result()
handle = amp.init()
own = Own()
own.start()
own.join()
with concurrent.futures.ThreadPoolExecutor(2) as later:
    print(before, own.seen, later.submit(product).result(), product())
with handle._disable_casts():
    off = Own()
    off.start()
    off.join()
    print(off.seen)
loader = torch.utils.data.DataLoader([1.0, 2.0], num_workers=0)
print(len(list(loader)), threading.active_count() < 5)
"""


def test_threads_that_are_started_after_init_cast_too(job):
    report = job(THREADS, options=["--apex", "--deep", "always"])
    low, full = "torch.bfloat16", "torch.float32"
    assert report["stdout"].splitlines() == [f"{full} {low} {low} {low}", full, "2 True"]
    assert {rule for rule, _ in found(report)} <= {"thread-lost-region"}  # the thread that was there before
    assert job(THREADS.replace("apex", "castscope"))["stdout"].split()[:4] == [full, full, full, low]


LEVELS = """
import torch
from apex import amp
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
try:
    amp.scale_loss(model(torch.ones(1, 2)).sum(), optimizer).__enter__()
except RuntimeError as error:
    print(error)
for level in ("O0", "O1", "O2", "O3", "01"):
    try:
        amp.initialize(model, optimizer, opt_level=level)
        with amp.scale_loss(model(torch.ones(1, 2)).sum(), optimizer) as loss:
            print(level, model(torch.ones(1, 2)).dtype, loss.item() != 0)
    except ValueError as error:
        print(error)
"""


def test_the_later_interface_says_what_it_does_not_provide(job):
    first, o0, o1, o2, o3, typing = job(LEVELS, options=["--apex"])["stdout"].splitlines()
    assert "amp.initialize()" in first
    # Inside scale_loss autocast is off.
    assert (o0, o1) == ("O0 torch.float32 True", "O1 torch.float32 True")
    assert 'write opt_level="O1"' in o2 and "write model.half() yourself" in o3 and "the letter O" in typing


def test_the_variables_for_a_job_that_castscope_does_not_start(castscope):
    done = castscope("env", "--apex", "--", sys.executable, text=True)
    assert "export CASTSCOPE_APEX='1'" in done.stdout and "CASTSCOPE_ENFORCE=" in done.stdout
