"""The package in a process that castscope does not watch: everything is there and does nothing."""

import configparser
import pathlib
import subprocess
import sys
import zipfile

import tomllib

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


def test_the_wheel_has_all_of_the_package(tmp_path, monkeypatch):
    sys.path.insert(0, str(HERE))
    import build_wheel
    (tmp_path / "castscope").write_text("the program")
    monkeypatch.setattr(build_wheel, "_program", lambda: tmp_path / "castscope")
    wheel = tmp_path / build_wheel.build_wheel(tmp_path)
    names = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("castscope/")}
    assert names >= {"castscope/__init__.py", "castscope/py.typed", "castscope/amp/handle.py"}
    done = subprocess.run([sys.executable, "-c", "from castscope import amp, never_cast; print(amp.__file__)"],
                          env={"PYTHONPATH": str(wheel)}, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == (f"{wheel}/castscope/amp/__init__.py\n", "")


def test_version_is_that_of_the_wheel():
    sys.path.insert(0, str(HERE))
    import build_wheel
    assert run("import castscope; print(castscope.__version__)").stdout.strip() == build_wheel._version()


def test_the_wheel_names_the_pytest_plugin_of_the_project():
    sys.path.insert(0, str(HERE))
    import build_wheel
    project = tomllib.loads((HERE.parents[1] / "pyproject.toml").read_text())["project"]
    parser = configparser.ConfigParser()
    parser.read_string(build_wheel.ENTRY_POINTS)
    assert {group: dict(parser[group]) for group in parser.sections()} == project["entry-points"]
    (plugin,) = project["entry-points"]["pytest11"].values()
    assert run(f"import {plugin}").returncode == 0
