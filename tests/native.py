"""Builds the small C++ libraries of the tests, once per source text, beside the CMake build."""

import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMPILER = os.environ.get("CXX", "g++").split()  # for the processor that the jobs run on
FOLDER = pathlib.Path(os.environ.get("CASTSCOPE_BUILD", ROOT / "build")) / "tests-native"


def torch_folder():
    import importlib.util
    return pathlib.Path(importlib.util.find_spec("torch").origin).parent


def library(source, *options, depends=()):
    """Builds the shared library of `source`. Its name is made from its text, that of `depends`, and the options for the
    linker."""
    source = pathlib.Path(source)
    include = torch_folder() / "include"
    # Another checkout has these files elsewhere, and is to find what ccache has kept of them.
    launcher = ["ccache"] if shutil.which("ccache") and "ccache" not in COMPILER else []
    cache = {"CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1"}
    compiling = [*COMPILER, "-std=c++20", "-O2", "-g", "-Wall", "-Wextra", "-fPIC", "-fvisibility=hidden", "-DNDEBUG",
                 "-isystem", str(include), "-isystem", str(include / "torch/csrc/api/include"), "-c", str(source)]
    key = hashlib.sha256(" ".join([*compiling, *options]).encode())
    for file in (source, *depends):
        key.update(pathlib.Path(file).read_bytes())
    target = FOLDER / f"{source.stem}-{key.hexdigest()[:16]}.so"
    if not target.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
            compiled, made = pathlib.Path(folder) / "library.o", pathlib.Path(folder) / "library.so"
            environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"} | cache
            subprocess.run([*launcher, *compiling, "-o", str(compiled)], check=True, env=environment)
            linking = [*COMPILER, "-shared", str(compiled), *options]
            subprocess.run([*linking, "-o", str(made)], check=True, env=environment)
            made.rename(target)
    return target


def torch_library(source):
    lib = torch_folder() / "lib"
    return library(source, f"-L{lib}", "-ltorch_cpu", "-lc10")
