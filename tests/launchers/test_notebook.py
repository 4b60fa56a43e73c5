"""A notebook with the kernel of `castscope notebook install`: what is recorded, and what %%castscope shows."""

import concurrent.futures
import subprocess
import sys

import counted
import oracle
import pytest
import runs
from launched import reports_in, together

jupyter_client = pytest.importorskip("jupyter_client")
pytest.importorskip("ipykernel")
LIMIT_S = 300
MODEL = """\
import torch
torch.set_num_threads(1)
model = torch.nn.Linear(8, 8).requires_grad_(False)
def forward(times):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for _ in range(times):
            y = model(torch.ones(4, 8))
    return y"""
WATCHED = "%%castscope\nforward(2).dtype"
SEVERAL = "%%castscope\nfor _ in range(3):\n    forward(4)"
FAILS = "%%castscope\nforward(1)\n1 / 0"
NOTHING = "%%castscope\nx = 1"
CELLS = ["%load_ext castscope", MODEL, WATCHED, SEVERAL, FAILS, NOTHING, "%%castscope nonsense\n1"]
FOREVER = "import time\nprint('begun', flush=True)\nwhile True: time.sleep(0.01)"


class Kernel:
    """A kernel, as a notebook uses it: `run` returns what a cell printed, its value and its error."""

    def __init__(self, folder, name="python3", kernels=None, **variables):
        specs = jupyter_client.kernelspec.KernelSpecManager()
        if kernels:
            specs.kernel_dirs = [str(kernels)]
        self.manager = jupyter_client.KernelManager(kernel_name=name, kernel_spec_manager=specs)
        self.manager.shutdown_wait_time = LIMIT_S  # it would be killed after some seconds, on a busy machine, too
        self.manager.start_kernel(cwd=str(folder), env=runs.clean_environment() | variables)
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=LIMIT_S)

    def run(self, cell, on_output=lambda kernel: None):
        out = {"stdout": "", "stderr": "", "value": "", "error": ""}

        def hook(message):
            content = message["content"]
            if message["msg_type"] == "stream":
                out[content["name"]] += content["text"]
                on_output(self)
            elif message["msg_type"] == "execute_result":
                out["value"] = content["data"]["text/plain"]
            elif message["msg_type"] == "error":
                out["error"] = content["ename"]
        self.client.execute_interactive(cell, timeout=LIMIT_S, output_hook=hook)
        return out

    def end(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel()


def run_all(kernel):
    try:
        return [kernel.run(cell) for cell in CELLS]
    finally:
        kernel.end()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("notebook")


@pytest.fixture(scope="module")
def kernels(folder):
    done = subprocess.run([runs.CASTSCOPE, "notebook", "install", "--prefix", folder, "--name", "watched", "--",
                           sys.executable], env=runs.clean_environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert 'In Jupyter it is called "Python 3.' in done.stdout
    return folder / "share/jupyter/kernels"


@pytest.fixture(scope="module")
def notebooks(folder, kernels):
    """The cells in a kernel that the oracle counts, where castscope is not, and in a castscope's: what each printed,
    what was counted, and the report."""
    for name in ("counted", "watched"):
        (folder / name).mkdir()
    lent = str(runs.ROOT / "agent/python")
    start = [lambda: Kernel(folder / "counted", PYTHONPATH=lent, **oracle.environment(folder / "counted")),
             lambda: Kernel(folder / "watched", "watched", kernels)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        plain, watched = pool.map(lambda one: run_all(one()), start)
    (report,) = reports_in(folder / "watched", 1, None)
    return plain, watched, oracle.read_all(folder / "counted"), report


def test_a_kernel_is_observed_exactly(notebooks):
    plain, watched, counts, report = notebooks
    assert counts.casts > 0
    counted.assert_totals(together([report]), counts)
    counted.assert_sites(together([report]), counts)
    assert report["run"]["complete"] is True and report["run"]["exit_status"] == 0
    for key in ("value", "error"):
        assert [cell[key] for cell in watched] == [cell[key] for cell in plain]


def test_a_cell_tells_what_it_cast_and_where(notebooks):
    _, watched, _, _ = notebooks
    shown = watched[CELLS.index(WATCHED)]
    assert shown["value"] == "torch.bfloat16"
    assert "castscope: In [3]: 6 casts, 0 cache hits, 0 pass-throughs; " in shown["stdout"]
    lines = shown["stdout"].splitlines()
    assert "       2  In [2]:7  aten::linear weight, float32 to bfloat16" in lines
    assert not any("not called by the cell" in line for line in lines)


def test_a_cell_tells_its_own_findings(notebooks):
    _, watched, _, _ = notebooks
    shown = watched[CELLS.index(SEVERAL)]["stdout"]
    assert "castscope: In [4]: 36 casts" in shown
    assert " weight-cast-repeatedly In [2]:7: " in shown


def test_a_cell_that_fails_is_told_of_too(notebooks):
    _, watched, _, _ = notebooks
    shown = watched[CELLS.index(FAILS)]
    assert shown["error"] == "ZeroDivisionError" and "castscope: In [5]: 3 casts" in shown["stdout"]
    assert watched[CELLS.index(NOTHING)]["stdout"] == \
        "castscope: In [6]: 0 casts, 0 cache hits, 0 pass-throughs; 0 bytes copied\n"
    assert watched[-1]["error"] == "ValueError"


def test_a_kernel_without_castscope_says_how_to_get_one(notebooks):
    plain, _, _, _ = notebooks
    shown = plain[CELLS.index(WATCHED)]
    assert shown["value"] == "torch.bfloat16"
    assert shown["stdout"].startswith("castscope: this kernel is not watched. `castscope notebook install` makes")


def test_a_cell_can_be_interrupted(folder, kernels):
    (folder / "interrupted").mkdir()
    kernel = Kernel(folder / "interrupted", "watched", kernels)
    try:
        assert kernel.run(FOREVER, on_output=lambda one: one.manager.interrupt_kernel())["error"] == "KeyboardInterrupt"
        assert kernel.run("1 + 1")["value"] == "2"
    finally:
        kernel.end()
