#!/usr/bin/env python3
"""Holds what docs/architecture.md says of the tree: who may include whom, that every test runs, that files stay small.

Each complaint names the file and what to do.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# folder → folders whose headers it may include, besides its own and the system's
MAY_INCLUDE = {
    "agent/memory": [],
    "agent/lanes": [],
    "agent/preload": ["agent/lanes/descriptor.h"],
    "agent/observe": ["agent/memory", "agent/lanes", "agent/preload/interface.h", "agent/operators/deep.h", "agent/script/script.h", "agent/script/misplaced.h", "agent/compile/compile.h", "agent/enforce/enforcing.h",
                      "agent/enforce/casting.h", "agent/enforce/kernels.h", "agent/gpu/gpu.h", "agent/imports/imports.h"],
    "agent/script": ["agent/memory", "agent/lanes", "agent/observe", "agent/preload/interface.h"],
    "agent/compile": ["agent/memory", "agent/lanes", "agent/observe", "agent/gpu/gpu.h", "agent/script/script.h", "agent/preload/interface.h"],
    "agent/operators": ["agent/memory", "agent/lanes", "agent/observe", "agent/gpu/gpu.h", "agent/matmuls/matmuls.h"],
    "agent/enforce": ["agent/memory", "agent/lanes", "agent/observe", "agent/preload/interface.h"],
    "agent/imports": ["agent/memory"],
    "agent/matmuls": ["agent/memory", "agent/lanes", "agent/imports/imports.h"],
    "agent/gpu": ["agent/memory", "agent/lanes", "agent/imports", "agent/matmuls/cublas_calls.h", "agent/observe", "agent/operators/deep.h", "agent/preload/interface.h"],
    "proto": ["agent/lanes/format.h"],
    "server/relay": ["agent/lanes", "proto"],
    "server/store": ["agent/lanes/format.h", "proto"],
    "server/ingest": ["agent/lanes/format.h", "proto", "server/store/run/run_sink.h"],
    "server/config": [],
    "server/policy": ["agent/enforce/pattern.h", "agent/enforce/policy_table.h", "server/config"],
    "server/rules": ["agent/lanes/format.h", "server/config", "server/policy", "server/store"],
    "server/graph": ["agent/lanes/format.h", "server/store", "server/rules"],
    "server/report": ["agent/lanes/format.h", "proto", "server/policy", "server/store", "server/rules", "server/graph"],
    "server/exported": ["server/policy", "server/store", "server/rules", "server/report"],
    "server/timeline": ["agent/lanes/format.h", "proto", "server/store", "server/report"],
    "server/web": ["agent/lanes/format.h", "server/store", "server/report", "server/rules", "server/timeline"],
    "server/cli": ["server/relay", "agent/preload/unfiled.h", "server"],
    "tests": ["agent", "proto", "server"],
}
# What must not enter the training process, by the include's first words.
NOT_IN_JOB = ("absl/", "grpc", "google/", "spdlog/", "fmt/", "nlohmann/", "sqlite3", "zstd", "Python.h")
IN_JOB = ("agent/memory", "agent/lanes", "agent/preload", "agent/observe", "agent/operators", "agent/script", "agent/compile", "agent/enforce", "agent/imports", "agent/matmuls", "agent/gpu")
MOST_LINES = 400


def tracked(*patterns):
    names = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [name for name in names.splitlines() if (ROOT / name).is_file()]


def home_of(name):
    """The longest folder of MAY_INCLUDE that holds this file."""
    return max((folder for folder in MAY_INCLUDE if name.startswith(folder + "/")), key=len, default=None)


def includes(name):
    for number, line in enumerate((ROOT / name).read_text(errors="replace").splitlines(), 1):
        found = re.match(r'\s*#\s*include\s+["<]([^">]+)[">]', line)
        if found:
            yield number, found.group(1)


def check_includes():
    for name in tracked("*.h", "*.c", "*.cc"):
        home = home_of(name)
        if home is None:
            yield f"{name}: lies in no folder that scripts/check_tree.py knows: add its row to MAY_INCLUDE"
            continue
        allowed = [home, *MAY_INCLUDE[home]]
        for number, header in includes(name):
            ours = header.startswith(("agent/", "server/", "proto/", "tests/"))
            fits = any(header == entry or header.startswith(entry + "/") for entry in allowed)
            if ours and not fits:
                yield f"{name}:{number}: {home} may not include {header} (docs/architecture.md)"
            test = name.endswith("_test.cc")
            if home in IN_JOB and not test and header.startswith(NOT_IN_JOB):
                yield f"{name}:{number}: {header} must not enter the training process"


def check_folders():
    for name in tracked():
        for part in pathlib.PurePath(name).parts[:-1]:
            if part in ("common", "utils", "util", "misc"):
                yield f"{name}: a folder named {part} says nothing: put the file where it is used"


def lists(cmake, path):
    """By its name, or by a pattern that is looked at anew at each build."""
    globs = re.findall(r"file\(GLOB \w+ RELATIVE \S+ CONFIGURE_DEPENDS ([^)]+)\)", cmake)
    return path.name in cmake or any(path.match(pattern) and "_test" in pattern for pattern in " ".join(globs).split())


def check_tests_are_listed():
    builds = {path.parent: path.read_text() for path in ROOT.glob("**/CMakeLists.txt") if "build" not in path.parts}
    for name in tracked("*_test.cc"):
        path = ROOT / name
        listed = any(folder in path.parents and lists(text, path.relative_to(folder)) for folder, text in builds.items())
        if not listed:
            yield f"{name}: no CMakeLists.txt lists this test, so nobody runs it"
    for name in tracked("tests/*.py", "agent/python/*.py"):
        path = pathlib.PurePath(name)
        holds_tests = re.search(r"^\s*def test_", (ROOT / name).read_text(), re.MULTILINE)
        if holds_tests and not path.name.startswith("test_"):
            yield f"{name}: has tests but pytest does not collect it: name it test_….py"


def check_sizes():
    for name in tracked("*.h", "*.c", "*.cc", "*.py"):
        lines = len((ROOT / name).read_text(errors="replace").splitlines())
        if lines > MOST_LINES:
            yield f"{name}: {lines} lines; part it (at most {MOST_LINES})"


def main():
    complaints = [*check_includes(), *check_folders(), *check_tests_are_listed(), *check_sizes()]
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
