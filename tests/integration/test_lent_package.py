"""The Python package where the program alone is installed: docs/package.md."""

import os
import re
import subprocess

import pytest
from program import ROOT, clean_environment

IMPORTS = "import castscope; castscope.step(); print(castscope.attached())"
PAGE = (ROOT / "docs/package.md").read_text()
# Its other scripts are of PyTorch.
(SCRIPT,) = (block for block in re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
             if "except ModuleNotFoundError" in block)


def test_a_script_as_the_page_has_it_runs_with_and_without_castscope(castscope, python_without_us):
    (castscope.folder / "script.py").write_text(SCRIPT + "print(castscope is not None)\n")
    alone = subprocess.run([python_without_us, "script.py"], cwd=castscope.folder, env=clean_environment(),
                           capture_output=True, text=True, check=False)
    assert (alone.returncode, alone.stdout, alone.stderr) == (0, "False\n", "")
    assert castscope.run(python_without_us, "script.py").stdout == b"True\n"


def test_a_plain_import_fails_without_castscope_alone(castscope, python_without_us):
    alone = subprocess.run([python_without_us, "-c", IMPORTS], env=clean_environment(), capture_output=True, text=True,
                           check=False)
    assert alone.returncode == 1 and "ModuleNotFoundError: No module named 'castscope'" in alone.stderr
    assert castscope.run(python_without_us, "-c", IMPORTS).stdout == b"False\n"


@pytest.mark.parametrize("option", ["-I", "-E", "-S"])
def test_a_python_that_looks_nowhere_finds_nothing(castscope, python_without_us, option):
    done = castscope.run(python_without_us, option, "-c", IMPORTS)
    assert done.returncode == 1 and b"No module named 'castscope'" in done.stderr


def test_the_variables_of_env_bring_it(castscope, python_without_us):
    variables = castscope("env", "--", python_without_us, text=True).stdout
    done = subprocess.run(["bash", "-c", variables + '"$0" -c "$1"', python_without_us, IMPORTS], capture_output=True,
                          env=clean_environment(), text=True, check=False)
    assert done.stdout == "False\n", done.stderr


def test_a_job_that_is_not_observed_has_it_too(castscope, python_without_us):
    done = castscope.run(python_without_us, "-c", IMPORTS, env=clean_environment(CASTSCOPE_OFF="1"))
    assert (done.returncode, done.stdout) == (0, b"False\n"), done.stderr


def test_a_job_that_cannot_be_recorded_has_it_too(castscope, python_without_us):
    """A folder that is gone: there is no place for the run file, and no other one may be written here."""
    gone = castscope.folder / "gone"
    gone.mkdir()
    command = f'rmdir ../gone; TMPDIR=/proc exec "{castscope.program}" run -o ../nowhere/x -- "$0" -c "$1"'
    done = subprocess.run(["bash", "-c", command, python_without_us, IMPORTS], cwd=gone, capture_output=True, text=True,
                          env=clean_environment(), check=False)
    assert (done.returncode, done.stdout) == (0, "False\n"), done.stderr


def test_a_script_that_starts_another_python_than_the_one_on_the_path(castscope, tmp_path, python_without_us):
    """The Python on PATH has the package; the one that the shell starts has none."""
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", tmp_path / "having"], check=True)
    (packages,) = (tmp_path / "having" / "lib").glob("python3*/site-packages")
    (packages / "castscope").mkdir()
    (packages / "castscope" / "__init__.py").write_text("")
    environment = clean_environment(PATH=f"{tmp_path}/having/bin:{os.environ['PATH']}")
    done = castscope.run("sh", "-c", f'"{python_without_us}" -c "{IMPORTS}"', env=environment)
    assert (done.returncode, done.stdout) == (0, b"False\n"), done.stderr


MARKED = """
import pytest, torch

@pytest.mark.castscope(max_casts=3)
def test_body():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.nn.Linear(8, 8)(torch.randn(2, 8))

def test_unmarked(): pass
"""


def test_pytest_finds_the_plugin_of_a_package_that_is_lent(castscope, python):
    """Its own run for the marked test, within the run of the session; without castscope pytest knows no such option."""
    (castscope.folder / "test_it.py").write_text(MARKED)
    command = [python, "-m", "pytest", "-p", "no:cacheprovider", "--castscope", "test_it.py"]
    done = castscope.run(*command, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "castscope: 1 test observed, 3 casts in their bodies" in done.stdout and "2 passed" in done.stdout
    # no:castscope: as where the package is not installed.
    alone = subprocess.run([*command, "-p", "no:castscope"], cwd=castscope.folder, env=clean_environment(),
                           capture_output=True, text=True, check=False)
    assert alone.returncode == 4 and "unrecognized arguments: --castscope" in alone.stderr


@pytest.mark.parametrize(("file", "settings", "plugin"), [
    ("pytest.ini", "[pytest]\ncastscope = true\n", True), ("pytest.ini", "[pytest]\naddopts = --castscope\n", True),
    ("../pyproject.toml", '[tool.pytest.ini_options]\ncastscope = true\n', True),
    ("pytest.ini", "[pytest]\naddopts = -q\n", False)])
def test_pytest_is_told_of_the_plugin_that_its_settings_ask_for(castscope, python_without_us, file, settings, plugin):
    """A program of pytest's name, in a Python that has neither it nor the package, says what pytest would read."""
    folder = castscope.folder / "tests"
    folder.mkdir()
    (folder / file).write_text(settings)
    (folder / "pytest").write_text("import os; print(os.environ.get('PYTEST_PLUGINS'))")
    done = castscope.run(python_without_us, "pytest", cwd=folder, text=True)
    assert done.stdout == ("castscope.pytest_plugin\n" if plugin else "None\n")


def test_pytest_without_the_option_does_not_notice_the_package(castscope, python):
    (castscope.folder / "test_it.py").write_text("import sys\ndef test_it(): assert 'castscope' not in sys.modules\n")
    command = [python, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:castscope", "test_it.py"]
    done = castscope.run(*command, text=True)
    assert done.returncode == 0 and "1 passed" in done.stdout
