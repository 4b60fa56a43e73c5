"""Runs castscope's part in the job on an emulated 64-bit ARM processor, and prints what came of it as a table. See
scripts/aarch64."""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "matrix")]
import compatibility  # noqa: E402
import cross  # noqa: E402
import root  # noqa: E402

BUILD = pathlib.Path(os.environ.get("CASTSCOPE_BUILD", cross.REPOSITORY / "build"))
FOLDER = BUILD / "aarch64"
# torch.compile's inductor would need Python's headers, and a compiler that runs in the emulated system.
CHECKS = [name for name in compatibility.CHECKS if name != "compile: inductor"]


def step(text):
    print(f"\n== {text}", file=sys.stderr, flush=True)


def missing():
    """What has to be installed, by Debian's names."""
    needed = {cross.CXX: "g++-aarch64-linux-gnu", cross.QEMU: "qemu-user-static", "dpkg-deb": "dpkg", "gcc": "gcc"}
    absent = [package for program, package in needed.items() if shutil.which(program) is None]
    return absent + ([] if cross.GTEST.is_dir() else ["googletest"])


def accept(python, checks):
    """What the acceptance run came to: {check: {"exact": …, "why": …}}"""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    compiler = [cross.CXX] if shutil.which("ccache") is None else ["ccache", cross.CXX]
    environment |= {"CXX": " ".join(compiler), "XDG_CACHE_HOME": str(FOLDER / "cache"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([python, HERE / "accepted.py", *checks], env=environment, stdout=subprocess.PIPE, text=True,
                          check=True)
    print(done.stdout.strip(), file=sys.stderr, flush=True)
    return json.loads(done.stdout)


def words(outcome):
    if outcome["exact"] is None:
        return f"not run: {outcome['why']}"
    return "exact" if outcome["exact"] else f"not exact: {outcome['why']}"


def rows(loads, units, accepted):
    yield "the preload library loads", "yes" if loads.endswith(" yes") else f"no: {loads}"
    for name, complaint in units.items():
        yield f"`{name}`", "passes" if complaint is None else "fails"
    for name, outcome in accepted["checks"].items():
        yield name, words(outcome)


def main():
    parser = argparse.ArgumentParser(prog="scripts/aarch64", description=__doc__)
    parser.add_argument("--torch", default="2.8.0", metavar="VERSION", help="of the wheel from PyPI (default: 2.8.0)")
    parser.add_argument("--check", action="append", default=[], metavar="NAME",
                        help=f"this check alone, of: {', '.join(CHECKS)}")
    parser.add_argument("--python", action="store_true",
                        help="prints the path of the emulated Python, and runs no check")
    options = parser.parse_args()
    if unknown := set(options.check) - set(CHECKS):
        parser.error(f"there is no check {', '.join(sorted(unknown))}")
    if absent := missing():
        parser.error(f"install {' '.join(absent)}")
    FOLDER.mkdir(parents=True, exist_ok=True)
    step(f"A 64-bit ARM Debian with PyTorch {options.torch}")
    system, site = root.make(FOLDER, options.torch)
    step("Compiling the preload library")
    preload = cross.preload_library(FOLDER)
    python = cross.python(FOLDER, system, site, preload)
    if options.python:
        print(python)
        return
    units = {}
    if not options.check:
        step("Unit tests")
        units = cross.unit_tests(FOLDER, system)
        for name, complaint in units.items():
            print(f"{name}: {complaint or 'passes'}", file=sys.stderr, flush=True)
    step("The acceptance run")
    accepted = accept(python, options.check or CHECKS)
    print(f"PyTorch {accepted['torch']}, Python {accepted['python']}, g++ {accepted['compiler']}\n")
    print("| what | what came of it |\n|---|---|")
    for row in rows(cross.loads(FOLDER, system), units, accepted):
        print(f"| {row[0]} | {row[1]} |")


if __name__ == "__main__":
    main()
