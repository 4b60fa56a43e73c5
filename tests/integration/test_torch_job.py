"""Jobs with PyTorch: what is counted arrives, in every way of starting and ending, and the job notices nothing."""

import os
import subprocess

from program import clean_environment
from work import WORK, assert_worked


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
    code = WORK + "work(2)\nif len(sys.argv) == 1: os.execv(sys.executable, [sys.executable, '-c', open('s').read(), 'x'])\n"
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
