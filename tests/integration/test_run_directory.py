"""What somebody removes from the run directory while a job is recorded is missed, and named; the job goes on."""

import subprocess

import pytest
from test_endings import wait_until_told
from work import WORK, assert_worked, eventually

REMOVE = "import os, shutil\nshutil.rmtree(os.environ['CASTSCOPE_RUN'])\n"
RESULT = "print(layer.weight.sum().item() * 0 + 7.0)\nsys.exit(3)\n"


def reasons(report):
    return [one["incomplete_reason"] for one in report["run"]["missing"]]


def sentences(report, reason):
    return [one["sentence"] for one in report["run"]["missing"] if one["incomplete_reason"] == reason]


def test_a_directory_that_is_removed_while_the_job_starts(castscope, python):
    done = castscope.run(python, "-c", REMOVE + WORK + "print(os.getpid())\nwork(3)\n" + RESULT, text=True)
    pid, result = done.stdout.split()
    report = castscope.report()
    assert (done.returncode, report["run"]["exit_status"], result) == (3, 3, "7.0")
    assert report["run"]["complete"] is False and report["run"]["observed"] is False
    assert {"run_directory_lost", "process_unrecorded"} <= set(reasons(report))
    assert any(f"process {pid} has PyTorch and could not be recorded" in sentence
               for sentence in sentences(report, "process_unrecorded"))
    assert "was removed" in done.stderr and "LD_PRELOAD" not in done.stderr


def test_a_directory_that_is_removed_in_the_middle(castscope, python):
    """What was found before is counted to its end; who begins afterwards is named."""
    code = WORK + ("import subprocess\n"
                   "work(2)\n"
                   "sys.stdin.readline()\n" + REMOVE +
                   "work(1)\n"
                   "pid = os.fork()\n"
                   "if pid == 0: work(1); os._exit(0)\n"
                   "os.waitpid(pid, 0)\n"
                   "other = subprocess.Popen([sys.executable, '-c', 'import torch'])\n"
                   "print(pid, other.pid, other.wait(), flush=True)\n" + RESULT)
    job = castscope.start(python, "-c", code, stdin=subprocess.PIPE)
    wait_until_told(castscope, None)
    out, _ = job.communicate(b"go on\n", timeout=300)
    child, other, status, result = out.decode().split()
    report = castscope.report()
    assert (job.returncode, status, result) == (3, "0", "7.0")
    assert_worked(report, 3)
    assert report["run"]["complete"] is False and report["run"]["observed"] is True
    (lost,) = sentences(report, "run_directory_lost")
    assert "was removed or replaced" in lost
    unrecorded = " ".join(sentences(report, "process_unrecorded"))
    assert f"process {child} has" in unrecorded and f"process {other} has" in unrecorded
    assert lost in report["run"]["notices"]


def test_a_directory_in_the_place_of_the_one_that_was_made(castscope, python):
    code = REMOVE + "os.mkdir(os.environ['CASTSCOPE_RUN'], 0o700)\n" + WORK + "work(2)\n"
    castscope.run(python, "-c", code)
    report = castscope.report()
    assert report["run"]["complete"] is False and "run_directory_lost" in reasons(report)


STOPPED = """
def stopped(pid):
    states = [open(f"/proc/{pid}/task/{task}/stat").read().rpartition(")")[2].split()[0]
              for task in os.listdir(f"/proc/{pid}/task")]
    return set(states) <= set("Tt")
"""

# castscope is stopped while the worker's segment is there: it does not find it in time.
LOADER = STOPPED + """
class Casting(torch.utils.data.Dataset):
    def __len__(self):
        return 2
    def __getitem__(self, index):
        if VANISHES and index == 0:
            os.kill(CASTSCOPE, signal.SIGSTOP)
            while not stopped(CASTSCOPE): pass
        with torch.autocast("cpu", torch.bfloat16):
            result = layer(torch.ones(4, 8)).float().detach()
        if VANISHES and index == 0:
            os.unlink(os.path.join(os.environ["CASTSCOPE_RUN"], f"{os.getpid()}-0.lanes"))
            os.kill(CASTSCOPE, signal.SIGCONT)
        return torch.tensor(os.getpid())

import signal
CASTSCOPE = os.getppid()
work(1)
for batch in torch.utils.data.DataLoader(Casting(), num_workers=1, multiprocessing_context="fork"): print(batch.item())
"""


@pytest.mark.parametrize("vanishes", [True, False])
def test_a_workers_record_that_vanishes(castscope, python, vanishes):
    done = castscope.run(python, "-c", WORK + LOADER.replace("VANISHES", str(vanishes)), text=True)
    assert done.returncode == 0, done.stderr
    worker = int(done.stdout.split()[0])
    report = castscope.report()
    if not vanishes:
        assert report["run"]["complete"] is True and report["totals"]["casts"] == 4 + 2 * 3
        return
    assert report["run"]["complete"] is False and reasons(report) == ["process_missing"]
    assert sentences(report, "process_missing")[0].startswith(f"process {worker} has cast, and its record {worker}-0")
    assert_worked(report, 1)


# The relay is stopped while the child's segment is there: it does not find it in time.
BARE_CHILD = STOPPED + """
import json, signal
work(1)
record = os.path.join(os.environ["CASTSCOPE_RUN"], "run.json")
while True:
    try: RELAY = json.load(open(record))["pid"]
    except (OSError, ValueError): continue
    break
os.kill(RELAY, signal.SIGSTOP)
while not stopped(RELAY): pass
pid = os.fork()
if pid == 0:
    work(5)
    os.unlink(os.path.join(os.environ["CASTSCOPE_RUN"], f"{os.getpid()}-0.lanes"))
    os._exit(0)
os.waitpid(pid, 0)
os.kill(RELAY, signal.SIGCONT)
print(pid)
"""


def test_a_record_that_vanishes_from_a_bare_job_is_missed_at_its_collector(castscope, python, collector):
    done = castscope.bare(python, "-c", WORK + BARE_CHILD, env={"CASTSCOPE_COLLECTOR": collector.address}, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    report = eventually(collector.folder / "*.json")
    assert_worked(report, 1)
    assert report["run"]["complete"] is False and reasons(report) == ["process_missing"]
    child = done.stdout.strip()
    assert sentences(report, "process_missing")[0].startswith(f"process {child} has cast, and its record {child}-0")


def test_a_bare_job_whose_directory_vanishes(castscope, python):
    code = WORK + "work(2)\nwhile not os.path.exists('run.castscope'): pass\n" + REMOVE + "work(1)\n"
    done = castscope.bare(python, "-c", code, env={"CASTSCOPE_OUT": str(castscope.folder / "run")})
    assert done.returncode == 0
    report = eventually(castscope.folder / "run.json")
    assert report["run"]["complete"] is False and "run_directory_lost" in reasons(report)
