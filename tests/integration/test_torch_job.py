"""Jobs with PyTorch: all counts arrive, however the job starts and ends, and the job notices nothing."""

import importlib.util
import pathlib
import subprocess
import sys
import sysconfig

import pytest
from program import ROOT, clean_environment
from work import WORK, assert_worked

sys.path.insert(0, str(ROOT / "tests"))
import native

LIBTORCH = pathlib.Path(importlib.util.find_spec("torch").origin).parent / "lib/libtorch_cpu.so"


def test_forked_child_counts_for_itself(castscope, python):
    code = WORK + "work(2)\npid = os.fork()\nwork(3)\nif pid == 0: os._exit(0)\nos.waitpid(pid, 0)\n"
    assert castscope.run(python, "-c", code).returncode == 0
    assert_worked(castscope.report(), 8)
    assert len(castscope.report()["processes"]) == 2


def test_spawned_processes_are_one_run(castscope, python):
    code = WORK + ("work(1)\nimport subprocess\n"
                   "if len(sys.argv) == 1:\n"
                   "    script = open(os.environ['SCRIPT']).read()\n"
                   "    subprocess.run([sys.executable, '-c', script, 'child'], check=True)\n")
    script = castscope.folder / "script"
    script.write_text(code)
    assert castscope.run(python, "-c", code, env=clean_environment(SCRIPT=script)).returncode == 0
    assert_worked(castscope.report(), 2)


def test_shell_script_of_two_trainings(castscope, python):
    (castscope.folder / "train.py").write_text(WORK + "work(2)\n")
    castscope.run("bash", "-c", f"{python} train.py; {python} train.py")
    assert_worked(castscope.report(), 4)


def test_process_that_replaces_itself(castscope, python):
    code = WORK + ("work(2)\n"
                   "if len(sys.argv) == 1: os.execv(sys.executable, [sys.executable, '-c', open('s').read(), 'x'])\n")
    (castscope.folder / "s").write_text(code)
    castscope.run(python, "-c", code)
    report = castscope.report()
    assert_worked(report, 4)
    assert report["run"]["complete"] is True


def test_waiting_for_children_sees_only_its_own(castscope, python):
    code = WORK + ("work(1)\n"
                   "try: print(os.wait())\n"
                   "except ChildProcessError: print('no children')\n")
    assert castscope.run(python, "-c", code).stdout == b"no children\n"


# --- the first call does not come from Python code ------------------------------------------------------------------


@pytest.fixture
def region(tmp_path):
    """A program in C."""
    source = pathlib.Path(__file__).resolve().parent / "preload/region.c"
    subprocess.run(["gcc", "-O2", source, "-o", tmp_path / "region", "-ldl"], check=True, env=clean_environment())
    return tmp_path / "region"


def test_python_that_is_never_initialized(castscope, region):
    libpython = pathlib.Path(sysconfig.get_config_var("LIBDIR")) / sysconfig.get_config_var("LDLIBRARY")
    if libpython.suffix == ".a":
        pytest.skip("this Python has no shared library")
    done = castscope.run(region, libpython, LIBTORCH)
    assert (done.returncode, done.stdout) == (0, b"1\n0\n"), done.stderr
    assert castscope.report()["run"]["complete"] is True


def test_a_job_that_leaves_no_key_is_not_observed(castscope, region):
    done = castscope.run(region, "--without-keys", LIBTORCH)
    assert (done.returncode, done.stdout) == (0, b"1\n0\n"), done.stderr
    assert b"no thread-specific key is left: the job runs on unobserved.\n" in done.stderr


def test_a_first_call_without_the_gil(castscope, python):
    # ctypes gives the GIL up around each call.
    code = (f"import ctypes\nctypes.CDLL('{LIBTORCH}', ctypes.RTLD_GLOBAL)\n"
            "program = ctypes.CDLL(None)\n"
            "program._ZN2at8autocast17increment_nestingEv()\n"
            "program._ZN2at8autocast17decrement_nestingEv()\n") + WORK + "work(2)\n"
    done = castscope.run(python, "-c", code)
    assert done.returncode == 0, done.stderr
    report = castscope.report()
    assert_worked(report, 2)
    assert all(site["location"]["line"] for site in report["sites"])


# --- what the job pays that does not autocast ------------------------------------------------------------------------


@pytest.fixture
def recording():
    """Python code that defines recorded()."""
    library = native.torch_library(pathlib.Path(__file__).with_name("recording.cc"))
    return f"import ctypes\nrecorded = ctypes.CDLL('{library}').operators_are_recorded\n"


def test_operators_are_recorded_for_a_while_only(castscope, python, recording):
    code = WORK + recording + ("one = torch.ones(1)\n"
                               "def others():\n"
                               "    for _ in range(30_000): one + one\n"
                               "seen = [recorded()]\n"
                               "others(); seen.append(recorded())\n"
                               "work(1); seen.append(recorded())\n"
                               "others(); seen.append(recorded())\n"
                               "print(seen)\n")
    assert castscope.run(python, "-c", code).stdout == b"[1, 0, 1, 0]\n"
    assert {site["argument"] for site in castscope.report()["sites"]} == {"input", "weight", "bias"}


def test_threads_that_record_operators_leave_nothing(castscope, python):
    code = ("import ctypes, threading, torch\n"
            "class Allocated(ctypes.Structure): _fields_ = [(name, ctypes.c_size_t) for name in 'abcdefghij']\n"
            "mallinfo = ctypes.CDLL(None).mallinfo2\n"
            "mallinfo.restype = Allocated\n"
            "one = torch.ones(1)\n"
            "def add(): one + one\n"
            "def threads(count):\n"
            "    for _ in range(count):\n"
            "        thread = threading.Thread(target=add)\n"
            "        thread.start(); thread.join()\n"
            "    return mallinfo().h\n"
            "print(-threads(50) + threads(200))\n")
    assert int(castscope.run(python, "-c", code).stdout) < 2_000_000


# --- the package ----------------------------------------------------------------------------------------------------


def test_step_by_hand(castscope, python):
    code = WORK + ("import castscope\n"
                   "print(castscope.attached())\n"
                   "for _ in range(5):\n"
                   "    work(2)\n"
                   "    castscope.step()\n")
    done = castscope.run(python, "-c", code)
    assert done.stdout == b"True\n"
    assert_worked(castscope.report(), 10)


def test_what_a_script_casts_may_be_gone_when_it_is_cast(castscope, python):
    """TorchScript releases x.t() as soon as it has been converted."""
    code = ("import torch\nx = torch.ones(2, 4)\n@torch.jit.script\ndef scripted(x):\n"
            "    with torch.autocast('cpu'):\n        return torch.mm(x, x.t())\n"
            "for _ in range(3): print(scripted(x).dtype)\n")
    (castscope.folder / "job.py").write_text(code)
    for deep in ("always", "never"):
        done = castscope("run", "--force", "-o", "run", "--deep", deep, "--", python, "job.py", text=True)
        assert (done.returncode, done.stdout) == (0, "torch.bfloat16\n" * 3), done.stderr
    assert castscope.report()["totals"]["casts"] == 6
