"""Runs clang-tidy on the C++ files that differ from a commit: scripts/check --tidy.

CMake compiles the sources of a room together, and castscope's own recipe does so with what goes into the job. Here each
is looked at by itself, the latter with the headers of the PyTorch in .venv, so that one that lacks an include is seen,
too. What the build generates is read from build/.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
TIDY = BUILD / "tidy"
# Those of server/cli/toolkit/recipe.cc, as far as they concern what is said about a source.
FLAGS = ["-std=c++20", "-O2", "-fPIC", "-DNDEBUG", "-fvisibility=hidden", "-I."]


def changed_since(commit):
    listed = subprocess.run(["git", "diff", "--name-only", "--diff-filter=d", commit, "--", "agent/*.cc", "server/*.cc",
                             "proto/*.cc", "tests/*.cc"], cwd=ROOT, capture_output=True, text=True, check=True)
    return listed.stdout.split()


def compiled_by_cmake():
    """Returns the files that CMake compiles; their commands for clang-tidy are in TIDY. GCC's precompiled headers mean
    nothing to it: it reads what they were made from, under another name, since it would look for them beside it."""
    apart = TIDY / "apart"
    subprocess.run(["cmake", "--preset", "default", "-B", apart, "-DCASTSCOPE_MERGE=OFF"], cwd=ROOT, check=True,
                   stdout=subprocess.DEVNULL)
    commands = json.loads((apart / "compile_commands.json").read_text().replace(str(apart), str(BUILD)))
    for command in commands:
        for header in set(re.findall(r"\S+/cmake_pch\.hxx", command["command"])):
            made_from = pathlib.Path(command["directory"], header)
            copy = made_from.with_name("read_by_tidy.hxx")
            copy.write_text(made_from.read_text())
            command["command"] = command["command"].replace(header, str(copy))
    (TIDY / "compile_commands.json").write_text(json.dumps(commands))
    return {os.path.relpath(command["file"], ROOT) for command in commands}


def torch_folders():
    import torch.utils.cpp_extension

    return torch.utils.cpp_extension.include_paths()


def check(path, by_cmake, include):
    """Returns the lines that clang-tidy has for a file, and whether it could look at it."""
    command = ["clang-tidy", "--quiet", path]
    command += ["-p", str(TIDY)] if path in by_cmake else ["--", *FLAGS, *include]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    # On standard error it counts the warnings of system headers, which it does not show.
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    return path, done.stdout.strip(), errors, done.returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--since", required=True, metavar="COMMIT")
    parser.add_argument("files", nargs="*", help="these files instead")
    given = parser.parse_args()
    files = given.files or changed_since(given.since)
    if not files:
        return print(f"No C++ file differs from {given.since[:12]}.")
    by_cmake = compiled_by_cmake()
    of_recipe = [path for path in files if path not in by_cmake and path.startswith("agent/")]
    skipped = [path for path in files if path not in by_cmake and path not in of_recipe]
    include = [f"-isystem{folder}" for folder in torch_folders()] if of_recipe else []
    failed = False
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        looked_at = [path for path in files if path not in skipped]
        for path, said, errors, status in pool.map(lambda path: check(path, by_cmake, include), looked_at):
            print(f"{path}: {'clean' if not said and status == 0 else ''}", flush=True)
            print(*([said] if said else []), *errors, sep="\n", end="\n" if said or errors else "")
            failed |= status != 0 or bool(said)
    for path in skipped:
        print(f"{path}: left out, since CMake does not compile it in this build")
    sys.exit(failed)


if __name__ == "__main__":
    main()
