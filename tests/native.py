"""Builds the small C++ libraries of the tests, once per source text, beside the CMake build."""

import hashlib
import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = pathlib.Path(os.environ.get("CASTSCOPE_BUILD", ROOT / "build")) / "tests-native"


def torch_folder():
    import importlib.util
    return pathlib.Path(importlib.util.find_spec("torch").origin).parent


def library(source, *options, depends=()):
    """Builds the shared library of `source`. Its name is made from its text, that of `depends`, and the options."""
    source = pathlib.Path(source)
    include = torch_folder() / "include"
    command = ["g++", "-std=c++20", "-O2", "-g", "-Wall", "-Wextra", "-fPIC", "-shared", "-fvisibility=hidden",
               "-DNDEBUG", "-isystem", str(include), "-isystem", str(include / "torch/csrc/api/include"),
               str(source), *options]
    key = hashlib.sha256(" ".join(command).encode())
    for file in (source, *depends):
        key.update(pathlib.Path(file).read_bytes())
    target = FOLDER / f"{source.stem}-{key.hexdigest()[:16]}.so"
    if not target.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
            made = pathlib.Path(folder) / "library.so"
            environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
            subprocess.run([*command, "-o", str(made)], check=True, env=environment)
            made.rename(target)
    return target


def torch_library(source):
    lib = torch_folder() / "lib"
    return library(source, f"-L{lib}", "-ltorch_cpu", "-lc10")
