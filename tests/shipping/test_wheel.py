"""The wheel, but for the program in it, which takes half a minute to pack: scripts/check-wheel installs a whole one."""

import configparser
import email
import os
import pathlib
import re
import subprocess
import sys
import zipfile

import pytest
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    pytest.importorskip("scikit_build_core", reason="scripts/test installs scikit-build-core")
    folder = tmp_path_factory.mktemp("wheel")
    code = f"from scikit_build_core.build import build_wheel; build_wheel({str(folder)!r})"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env={**os.environ, "SKBUILD_WHEEL_CMAKE": "0"},
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (path,) = folder.glob("*.whl")
    return path


def read(wheel, name):
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(f"castscope-{PROJECT['version']}.dist-info/{name}").decode()


def test_it_is_for_any_python_and_glibc_2_17(wheel):
    tags = re.findall(r"^Tag: (.*)$", read(wheel, "WHEEL"), re.MULTILINE)
    assert sorted(tags) == ["py3-none-manylinux2014_x86_64", "py3-none-manylinux_2_17_x86_64"]
    assert re.fullmatch(r"castscope-[0-9.]+-py3-none-(manylinux2014_x86_64|manylinux_2_17_x86_64|\.)+\.whl", wheel.name)


def test_it_has_all_of_the_package(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if name.startswith("castscope/")}
    package = ROOT / "agent" / "python" / "castscope"
    files = [*package.rglob("*.py"), package / "py.typed"]
    assert names == {path.relative_to(package.parent).as_posix() for path in files}
    done = subprocess.run([sys.executable, "-c", "import castscope; print(castscope.never_cast, castscope.__file__)"],
                          env={"PYTHONPATH": str(wheel)}, capture_output=True, text=True, check=False)
    assert re.fullmatch(rf"<function never_cast .*> {re.escape(str(wheel))}/castscope/__init__\.py\n", done.stdout)


def test_it_tells_what_it_is(wheel):
    metadata = email.message_from_string(read(wheel, "METADATA"))
    assert (metadata["Name"], metadata["Version"]) == ("castscope", PROJECT["version"])
    assert (metadata["License-Expression"], metadata["Requires-Python"]) == ("Apache-2.0", ">=3.9")
    assert metadata.get_payload() == (ROOT / "README.md").read_text()
    assert read(wheel, "licenses/LICENSE") == (ROOT / "LICENSE").read_text()


def test_it_names_the_plugin_for_pytest(wheel):
    parser = configparser.ConfigParser()
    parser.read_string(read(wheel, "entry_points.txt"))
    assert {group: dict(parser[group]) for group in parser.sections()} == PROJECT["entry-points"]
    (plugin,) = PROJECT["entry-points"]["pytest11"].values()
    done = subprocess.run([sys.executable, "-c", f"import castscope, {plugin}; print(castscope.__version__)"],
                          cwd=ROOT / "agent" / "python", capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == (f"{PROJECT['version']}\n", "")


def test_the_program_needs_nothing_of_its_machine():
    """That is why the tag is true; server/cli/loading/floor_test.cc reads what the program carries for jobs."""
    program = pathlib.Path(os.environ.get("CASTSCOPE_BUILD", ROOT / "build")) / "castscope"
    headers = subprocess.run(["readelf", "-Wld", program], capture_output=True, text=True, check=True).stdout
    assert "LOAD" in headers
    assert not re.search(r"INTERP|\(NEEDED\)", headers)
