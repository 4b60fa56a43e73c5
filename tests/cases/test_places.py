"""Places in the report: lines, regions, modules and steps of jobs that do not look like the usual one."""

import collections
import pathlib
import textwrap

import pytest
from reports import casts_by_cause


def line(location):
    return location and location["line"]


def regions(report):
    return [(region["region_kind"], line(region["location"])) for region in report["regions"]]


def test_pytorch_in_another_folder_is_not_the_users_code(run, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "torch").symlink_to(pathlib.Path(__import__("torch").__file__).parent)
    report = run("""\
        net = torch.nn.Linear(4, 4)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            net(torch.randn(3, 4))
        """, PYTHONPATH=str(tmp_path / "elsewhere"))
    assert {line(site["location"]) for site in report["sites"]} == {4}
    assert regions(report) == [("context", 3)]


@pytest.mark.job("""\
        net = torch.nn.Linear(4, 4)
        x = torch.randn(3, 4)
        torch.set_autocast_enabled("cpu", True)
        torch.autocast_increment_nesting()
        net(x)
        torch.autocast_decrement_nesting()
        torch.set_autocast_enabled("cpu", False)
        torch.clear_autocast_cache()
        torch.set_autocast_enabled("cpu", True)
        net(x)
        torch.set_autocast_enabled("cpu", False)
        """)
def test_a_switch_that_does_what_a_region_does_is_still_raw(report):
    assert regions(report) == [("context", 5), ("raw", 10)]
    assert [(found["rule"], line(found["location"])) for found in report["findings"]] == [("cache-never-cleared", 10)]


@pytest.mark.job("""\
        with torch.autocast("cpu", dtype=torch.bfloat16):
            torch.randn(2, 2, device="meta").half()
            torch.randn(2, 2).half()
        """)
def test_a_conversion_belongs_to_the_region_around_it_whatever_its_device(report):
    assert regions(report) == [("context", 2)]
    assert {(site["device"], site["cause"], site["region"]) for site in report["sites"]} == {
        ("meta", "user_to", report["regions"][0]["region"]), ("cpu", "user_to", report["regions"][0]["region"])}


@pytest.mark.job("""\
        import pathlib, sys
        sys.path.insert(0, str(pathlib.Path(__file__).parent))
        pathlib.Path(__file__).with_name("task.py").write_text('''
        import torch
        @torch.jit.script
        def both(x, w):
            task = torch.jit.fork(torch.mm, x, w)
            return torch.mm(x, w) + torch.jit.wait(task)
        '''.replace("\\n        ", "\\n"))
        from task import both
        x, w = torch.randn(4, 4), torch.randn(4, 4)
        for _ in range(20):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                both(x, w)
        import os
        os._exit(0)  # at exit PyTorch's own pool of forked tasks aborts now and then, with castscope and without
        """)
def test_a_forked_task_inherits_its_region(report):
    assert "raw" not in {kind for kind, _ in regions(report)}


@pytest.mark.job("""\
        class Wrap(torch.nn.Module):
            def __init__(self, inner):
                super().__init__()
                self.inner = inner
            def forward(self, x):
                return self.inner(x)
        class Net(Wrap):
            pass
        net = torch.nn.Linear(4, 4)
        for _ in range(90):
            net = Wrap(net)
        net = Net(net)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            net(torch.randn(2, 4))
        """)
def test_the_outermost_module_is_known_however_deep_it_stands(report):
    assert {(site["model"], site["module"]) for site in report["sites"]} == {("Net", ".".join(["inner"] * 91))}


@pytest.mark.parametrize("optimizer", ["torch.optim.SGD", "torch.optim.AdamW",
                                       "type('Own', (torch.optim.SGD,), {})",
                                       "type('Own', (torch.optim.SGD,), {'step': lambda self: None})"])
@pytest.mark.job("""\
        net, x = torch.nn.Linear(4, 4), torch.randn(3, 4)
        def micro():
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = net(x).sum()
            loss.backward()
        for _ in range(100):  # steps of their own: there is no optimizer
            micro()
        optimizer = {optimizer}(net.parameters(), 0.1)
        for _ in range(3):
            for _ in range(8):
                micro()
            optimizer.step()
        """)
def test_an_optimizer_made_late_is_seen_at_the_next_region(report, optimizer):
    assert report["totals"]["step_count"] == 103


@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.job("""\
        net, x = torch.nn.Linear(4, 4), torch.randn(3, 4)
        optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
        step = torch.compile(optimizer.step, backend="{backend}")
        for _ in range(6):
            for _ in range(2):
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    loss = net(x).float().sum()
                loss.backward()
            step()
        """)
def test_a_compiled_optimizer_step_ends_the_step(report, backend):
    assert report["totals"]["step_count"] == 6


@pytest.mark.job("""\
        net, x = torch.nn.Linear(4, 4), torch.randn(3, 4)
        for _ in range(300):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                torch.nn.Linear(4, 4)(x)
        optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
        step = torch.compile(optimizer.step, backend="eager")
        for _ in range(6):
            for _ in range(2):
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    loss = net(x).float().sum()
                loss.backward()
            step()
        """)
def test_weights_of_models_that_are_gone_make_room(report):
    assert (report["totals"]["step_count"], report["totals"]["evaluation_count"]) == (6, 300)


CLOSURES = """\
    torch.manual_seed(0)
    net, x = torch.nn.Linear(4, 4), torch.randn(3, 4)
    def loss_of():
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = (net(x).float() - 1).square().sum()
        loss.backward()
        return loss
    """


@pytest.mark.job(CLOSURES + """
    optimizer = torch.optim.LBFGS(net.parameters(), max_iter=4)
    for _ in range(5):
        optimizer.step(loss_of)
    """)
def test_regions_of_a_closure_belong_to_its_step(report):
    assert sum(region["entered"] for region in report["regions"]) == 16
    assert report["totals"]["step_count"] == 5


@pytest.mark.job(CLOSURES + """
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    def write(by):
        with torch.no_grad():
            for p in net.parameters():
                p.add_(by)
    for _ in range(5):  # sharpness-aware minimization
        loss_of()
        write(0.01)
        loss_of()
        write(-0.01)
        optimizer.step()
    """)
def test_weights_written_by_hand_end_no_step_of_an_eager_optimizer(report):
    assert report["totals"]["step_count"] == 5


@pytest.mark.job("""\
        net, x = torch.nn.Linear(4, 4), torch.randn(3, 4)
        for grad_mode in (False, True, True):
            with torch.set_grad_enabled(grad_mode), torch.autocast("cpu", dtype=torch.bfloat16):
                net(x)
        """)
def test_without_an_optimizer_an_evaluation_comes_first_and_alone(report):
    assert report["totals"]["step_count"] == 3


@pytest.mark.parametrize("register", [
    """
        @torch.library.custom_op("own::mm", mutates_args=())
        def mm(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
            return x @ w
        mm.register_autocast("cpu", torch.bfloat16)
    """,
    """
        library = torch.library.Library("own", "DEF")
        library.define("mm(Tensor x, Tensor w) -> Tensor")
        library.impl("mm", lambda x, w: x @ w, "CPU")
        torch.library.register_autocast("own::mm", "cpu", torch.bfloat16)
    """], ids=["custom_op", "library"])
def test_a_registered_cast_is_autocasts(run, register):
    report = run(textwrap.dedent(register) + textwrap.dedent("""
        x = torch.randn(4, 4)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            torch.ops.own.mm(x, x.t())
        """))
    assert casts_by_cause(report) == {"custom_cast": 2}


@pytest.mark.parametrize("make", ["torch.jit.script(net)", "torch.jit.trace(net, x)"])
@pytest.mark.job("""\
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.first = torch.nn.Linear(4, 4)
                self.second = torch.nn.Linear(4, 4, bias=False)
            def forward(self, x):
                return self.second(self.first(x))
        net, x = Net(), torch.randn(3, 4)
        scripted = {make}
        for _ in range(10):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                scripted(x)
        """)
def test_weights_of_a_scripted_model_stay_weights(report, make):
    casts = collections.Counter()
    for site in report["sites"]:
        if site["cause"] == "script":
            casts[site["role"]] += site["casts"]
    assert casts == {"weight": 30, "input": 10}


@pytest.mark.parametrize("make", ["torch.jit.script(net)", "torch.jit.trace(net, x)"])
@pytest.mark.job("""\
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.first = torch.nn.Linear(4, 4)
                self.norm = torch.nn.BatchNorm1d(4)
                self.second = torch.nn.Linear(4, 4, bias=False)
            def forward(self, x):
                return self.second(self.norm(self.first(x)))
        net, x = Net().eval(), torch.randn(3, 4)
        frozen = torch.jit.freeze({make})
        for _ in range(10):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                frozen(x)
        """)
def test_constants_of_a_frozen_model_are_weights(report, make):
    casts = collections.Counter()
    for site in report["sites"]:
        if site["cause"] == "script":
            casts[site["role"]] += site["casts"]
    assert casts == {"weight": 3, "input": 10}  # each constant once: the optimized graph has the copies


@pytest.mark.job("""\
        half = torch.randn(3, 4).half()
        half.mean(dim=1)
        """)
def test_what_an_operator_converts_of_its_own_is_no_input(report):
    roles = {(line(site["location"]), site["operator"]): site["role"] for site in report["sites"]}
    assert roles[3, "aten::mean.dim"] == "activation"
    assert roles[2, "aten::to"] == "input"


def test_modules_of_threads_that_ended_are_given_back(run):
    run("""\
        import gc, threading, weakref
        x = torch.randn(2, 4)
        def work():
            with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
                modules = [torch.nn.Linear(4, 4) for _ in range(100)]  # all alive until the thread ends
                for module in modules:
                    module(x)
        for _ in range(30):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        dead = sum(type(o) is weakref.ref and o() is None for o in gc.get_objects())
        assert dead < 2000, dead
        """)


@pytest.mark.job("""\
        import os, threading
        net, x = torch.nn.Linear(4, 4), torch.randn(3, 4)
        thread = threading.Thread(target=lambda: torch.autocast("cpu", dtype=torch.bfloat16).__enter__())
        thread.start()
        thread.join()
        while os.path.exists(f"/proc/self/task/{thread.native_id}"):  # the system's thread outlives Python's
            pass
        for _ in range(5):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                net(x)
        """)
def test_a_thread_that_ends_in_a_region_leaves_it(report):
    assert report["totals"]["step_count"] == 6


@pytest.mark.job("""\
        import threading
        net, x = torch.nn.Linear(4, 4), torch.randn(3, 4)
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        inside, over = threading.Event(), threading.Event()
        def evaluate():
            with torch.autocast("cpu", dtype=torch.bfloat16):
                inside.set()
                over.wait()
        thread = threading.Thread(target=evaluate)
        thread.start()
        inside.wait()
        for _ in range(5):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = net(x).float().sum()
            loss.backward()
            optimizer.step()
        over.set()
        thread.join()
        """)
def test_an_evaluating_thread_that_never_leaves_its_region_freezes_no_step(report):
    assert report["totals"]["step_count"] == 5
