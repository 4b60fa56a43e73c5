"""The package in a process that castscope does not watch: everything is there and does nothing."""

import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def run(code):
    return subprocess.run([sys.executable, "-c", code], cwd=HERE, capture_output=True, text=True, check=False)


def test_inert_without_castscope():
    done = run("import castscope; castscope.step(); print(castscope.attached())")
    assert (done.returncode, done.stdout, done.stderr) == (0, "False\n", "")


def test_import_brings_in_no_torch():
    done = run("import sys, castscope; print('torch' in sys.modules)")
    assert done.stdout == "False\n"


def test_importing_all_names_brings_in_no_torch():
    done = run("import sys\nfrom castscope import *\nassert callable(half_function)\nprint('torch' in sys.modules)")
    assert (done.stdout, done.stderr) == ("False\n", "")
