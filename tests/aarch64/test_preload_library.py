"""The preload library for 64-bit ARM, where the compiler for it is installed. scripts/aarch64 runs jobs with it."""

import pathlib
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import cross

COMPILERS_ROOT = pathlib.Path("/usr/aarch64-linux-gnu")  # has the C library that Debian's compiler links


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    if shutil.which(cross.CC) is None:
        pytest.skip(f"{cross.CC} is not installed (Debian: g++-aarch64-linux-gnu)")
    folder = tmp_path_factory.mktemp("aarch64")
    cross.preload_library(folder)
    return folder


def readelf(folder, option):
    command = ["readelf", "--wide", option, str(folder / "libcastscope.so")]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_it_stands_before_the_same_functions(folder):
    listed = (cross.REPOSITORY / "agent/interposed/interface.h").read_text().split("enum castscope_hook")[0]
    hooks = set(re.findall(r"\b_ZN\w+", listed))
    exported = {line.split()[-1] for line in readelf(folder, "--dyn-syms").splitlines() if " FUNC    GLOBAL" in line
                and " UND " not in line}
    assert hooks and hooks | {"initModule", "_exit"} <= exported


def test_it_needs_the_first_glibc_that_knows_the_processor(folder):
    assert set(re.findall(r"Name: (GLIBC_[\d.]+)", readelf(folder, "--version-info"))) == {"GLIBC_2.17"}


def test_its_parts_are_apart_by_the_largest_pages(folder):
    parts = [line.split() for line in readelf(folder, "--program-headers").splitlines() if line.startswith("  LOAD")]
    assert len(parts) > 1 and all(int(part[-1], 16) >= 64 << 10 for part in parts)


def test_it_loads(folder):
    if not pathlib.Path(cross.QEMU).exists() or not COMPILERS_ROOT.is_dir():
        pytest.skip("needs Debian's qemu-user-static and libc6-arm64-cross")
    assert cross.loads(folder, COMPILERS_ROOT).endswith(" yes")
