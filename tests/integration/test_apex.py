"""Code written for apex.amp under castscope: as it stands with --apex, and with castscope.amp by its own name."""

import functools
import sys

import pytest
from program import ROOT

sys.path.insert(0, str(ROOT / "tests"))
import sharing
from reports import casts_by_cause

LOOPS = ROOT / "tests" / "workloads" / "apex_loops.py"
ITERATIONS = 4
APEX = ["--apex", "--deep", "always"]
SCALED = ["basic", "without_caching", "verbose", "clipped", "wrapped", "two_optimizers", "two_optimizers_in_turn",
          "two_losses", "accumulated", "overflowing", "overflowing_wrapped", "casts_disabled", "cells", "annotated"]


@pytest.fixture(autouse=True)
def with_castscope_amp(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "agent" / "python"))


@pytest.fixture
def job(castscope):
    """Runs code, or a file with arguments. Returns its report. `options` are castscope's."""
    def run(code, *arguments, options=()):
        if isinstance(code, str):
            (castscope.folder / "job.py").write_text(code)
            code = "job.py"
        done = castscope("run", "--force", "-o", "run", *options, "--", sys.executable, code, *arguments, text=True)
        assert done.returncode == 0, done.stderr
        report = castscope.report()
        report["stdout"], report["stderr"] = done.stdout, done.stderr
        return report
    return run


# ------------------------------------------------------------------------------------------------- steps, no findings

MODEL = """
import torch
import torch.nn.functional as F
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
"""
WITH_TORCH_AMP = MODEL + """
for _ in range(5):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = F.mse_loss(model(torch.randn(4, 8)), torch.randn(4, 1))
    loss.backward()
    optimizer.step()
"""
WITH_SCALE_LOSS = "from castscope import amp\nhandle = amp.init()\n" + MODEL + """
for _ in range(5):
    optimizer.zero_grad()
    loss = F.mse_loss(model(torch.randn(4, 8)), torch.randn(4, 1))
    with handle.scale_loss(loss, optimizer) as scaled_loss:
        scaled_loss.backward()
    optimizer.step()
"""


@pytest.fixture(scope="module")
def looped(tmp_path_factory):
    """Runs the loops as they stand, or with --apex: they share a run. Returns its report, and what each of them did."""
    @functools.cache
    def run(*option):
        folder = tmp_path_factory.mktemp("loops")
        programs = {loop: f"{LOOPS} {loop}" for loop in SCALED}
        if option:
            programs["initialized"] = f"{LOOPS} initialized"
        else:
            programs |= {f"{loop} float16": f"{LOOPS} {loop} float16" for loop in SCALED}
            programs["by_hand"] = f"{LOOPS} by_hand"
            for name, text in (("torch_amp", WITH_TORCH_AMP), ("scale_loss", WITH_SCALE_LOSS)):
                programs[name] = folder / name / "job.py"
                programs[name].parent.mkdir()
                programs[name].write_text(text)
        outcome, parts = sharing.under_castscope(list(programs.values()), folder / "run", "--deep", "always", *option)
        return outcome.report, dict(zip(programs, parts, strict=True))
    return run


# On PyTorch's lists for the CPU: no cell is among them, so that its first state, which PyTorch makes in float32, takes
# what it computes in lower precision up to float32. apex's lists have cells: with --apex there is nothing to find.
WITH_PYTORCHS_LISTS = [("dtype-silent-upcast", "cells")]


def steps_of(parts, loops):
    return {loop: parts[loop]["totals"]["step_count"] for loop in loops}


def test_a_loop_has_as_many_steps_as_iterations_and_nothing_is_found(looped):
    report, parts = looped()
    loops = SCALED + [f"{loop} float16" for loop in SCALED]
    assert steps_of(parts, loops) == dict.fromkeys(loops, ITERATIONS)
    found = [finding for finding in report["findings"] if finding["location"]["function"] != "by_hand"]
    assert [(finding["rule"], finding["location"]["function"]) for finding in found] == WITH_PYTORCHS_LISTS
    assert found[0]["evidence"]["calls"] == 2 * ITERATIONS, "in bfloat16 and in float16"
    assert report["run"]["enforced_policy"] is None


def test_as_it_stands_with_apex_a_loop_has_its_steps_and_nothing_at_all_is_found(looped):
    report, parts = looped("--apex")
    loops = [*SCALED, "initialized"]
    assert steps_of(parts, loops) == dict.fromkeys(loops, ITERATIONS)
    assert report["findings"] == []
    assert report["run"]["enforced_policy"] == "apex-o1-any"


def test_a_loop_without_scale_loss_has_its_steps_too(looped):
    """The loop's behaviour is reported: backward under autocast, and that the cache was cleared by hand after each
    step."""
    report, parts = looped()
    assert steps_of(parts, ["by_hand"]) == {"by_hand": ITERATIONS}
    findings = {finding["rule"]: finding for finding in report["findings"]
                if finding["location"]["function"] == "by_hand"}
    assert set(findings) == {"region-contains-backward", "region-spans-steps"}
    assert findings["region-contains-backward"]["severity"] == "warning"
    assert "scale_loss" in findings["region-contains-backward"]["fix"]
    spans = findings["region-spans-steps"]
    assert spans["severity"] == "info"
    assert spans["title"].endswith(f"its cache was cleared {ITERATIONS} times meanwhile, and no hit gave a copy of a "
                                   "weight from before the latest step")


def test_the_step_ends_where_it_does_with_torch_amp(looped):
    """The casts of each step, against the same loop on autocast itself."""
    _, parts = looped()
    casts = [[(run["first_step"], run["last_step"], run["casts"]) for run in parts[name]["step_runs"]]
             for name in ("torch_amp", "scale_loss")]
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


@pytest.mark.job("""
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
def test_annotations_are_counted_like_what_a_dispatch_mode_sees(ran):
    """As many copies as an independent count has, whatever the arguments are nested in."""
    report = ran.report
    assert int(*ran.lines) == casts_by_cause(report)["annotation"] == 8
    places = {(site["operator"], site["argument"]): site["casts"] for site in report["sites"]
              if site["cause"] == "annotation"}
    assert places == {("takes", "first"): 1, ("takes", "others"): 3, ("takes", "key"): 1, ("Block.forward", "pairs"): 2,
                      ("<lambda>", "b"): 1}


@pytest.mark.job("""
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
def test_what_pytorchs_own_python_casts_is_not_the_users(ran):
    by_cause = casts_by_cause(ran.report)
    assert by_cause["user_to"] == 2 + 2 + 3 and set(by_cause) == {"user_to", "pytorch"}
    assert {site["operator"] for site in ran.report["sites"] if site["cause"] == "pytorch"} == {"aten::to"}


# -------------------------------------------------------------------------------------------------- --apex

@pytest.mark.job("""
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
""", options=APEX)
def test_apex_is_castscope_amp_where_none_is_installed(ran):
    first, parallel, optimizers, nonsense, by_name, has = ran.lines
    assert (first, by_name, has) == ("True True", optimizers, "False")
    assert parallel.endswith("stands in for apex.amp alone; write torch.nn.parallel.DistributedDataParallel, or "
                             "torch.nn.SyncBatchNorm instead")
    assert "torch.optim" in optimizers and nonsense.endswith("stands in for apex.amp alone")
    assert "apex is installed" not in ran.stderr


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


@pytest.mark.job("""
try:
    import apex
except ImportError as error:
    print(error)
""")
def test_without_the_option_nothing_stands_in(ran):
    assert ran.lines == ["No module named 'apex'"]


LOW, FULL = "torch.bfloat16", "torch.float32"
LISTS = """
import torch
import torch.nn.functional as F
from apex import amp
amp.init()
x, low = torch.rand(2, 4), torch.rand(2, 4, dtype=torch.bfloat16)
print(torch.mm(x, x.t()).dtype, torch.exp(low).dtype, F.softmax(low, 1).dtype, F.mse_loss(low, low).dtype,
      (low + x).dtype, torch.relu(low).dtype)
"""


@pytest.mark.job(LISTS, options=APEX)
def test_apexs_lists_decide_and_not_pytorchs(ran):
    assert " ".join(ran.lines).split() == [LOW, FULL, FULL, FULL, FULL, LOW]


@pytest.mark.job(LISTS.replace("apex", "castscope"))
def test_pytorchs_lists_for_the_cpu_decide_without_the_option(ran):
    assert " ".join(ran.lines).split() == [LOW, LOW, LOW, FULL, FULL, LOW]


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


@pytest.mark.job(THREADS, options=APEX)
def test_threads_that_are_started_after_init_cast_too(ran):
    assert ran.lines == [f"{FULL} {LOW} {LOW} {LOW}", FULL, "2 True"]
    assert {finding["rule"] for finding in ran.report["findings"]} <= {"thread-lost-region"}  # what was there before


@pytest.mark.job(THREADS.replace("apex", "castscope"))
def test_without_the_option_threads_that_are_started_after_init_do_not_cast(ran):
    assert ran.lines[0].split() == [FULL, FULL, FULL, LOW]


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


@pytest.mark.job(LEVELS, options=APEX)
def test_the_later_interface_says_what_it_does_not_provide(ran):
    first, o0, o1, o2, o3, typing = ran.lines
    assert "amp.initialize()" in first
    # Inside scale_loss autocast is off.
    assert (o0, o1) == ("O0 torch.float32 True", "O1 torch.float32 True")
    assert 'write opt_level="O1"' in o2 and "write model.half() yourself" in o3 and "the letter O" in typing


def test_the_variables_for_a_job_that_castscope_does_not_start(castscope):
    done = castscope("env", "--apex", "--", sys.executable, text=True)
    assert "export CASTSCOPE_APEX='1'" in done.stdout and "CASTSCOPE_ENFORCE=" in done.stdout
