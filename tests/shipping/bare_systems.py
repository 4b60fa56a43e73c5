"""Tries a wheel of castscope on bare systems. See scripts/check-wheel."""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import chroots
from chroots import System

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "matrix"))
import stub_cuda  # noqa: E402

JOB = ROOT / "docs" / "pictures" / "train.py"  # the job that README.md shows
# The newest PyTorch for Python 3.9, and the one of the tests; agents of both must be in the wheel.
TORCH = {"3.9": "2.8.0", "3.11": "2.13.0"}


def step(text):
    print(f"\n== {text}", flush=True)


def fetched(folder, python, given):
    """Where the wheels for this version of Python lie: PyTorch, and what it needs, without what is of CUDA."""
    wheels = folder / f"wheels-{python}"
    wheels.mkdir(exist_ok=True)
    tag = f"cp{python.replace('.', '')}"
    for wheel in given:
        if f"-{tag}-" in wheel.name and not (wheels / wheel.name).exists():
            shutil.copy(wheel, wheels)
    options = ["--quiet", "--only-binary=:all:", "--python-version", python, "--dest", str(wheels)]
    if not list(wheels.glob("torch-*")):
        step(f"Fetching PyTorch {TORCH[python]} for Python {python}")
        subprocess.run([sys.executable, "-m", "pip", "download", "--no-deps", *options, f"torch=={TORCH[python]}"],
                       check=True)
    if not list(wheels.glob("filelock-*")):
        names = ["filelock", "typing-extensions", "sympy", "networkx", "jinja2", "fsspec", "numpy"]
        subprocess.run([sys.executable, "-m", "pip", "download", *options, *names], check=True)
    return wheels


def with_torch(system, wheels):
    """A virtual environment with PyTorch. A build for CUDA gets libraries that know no device in place of CUDA's."""
    step(f"{system.name}: installing PyTorch")
    system.run("python3 -m venv /home/job/venv && venv/bin/pip install -q --no-index --find-links /wheels"
               " filelock typing-extensions sympy networkx jinja2 fsspec numpy &&"
               " venv/bin/pip install -q --no-index --no-deps /wheels/torch-*.whl", wheels=wheels)
    (libraries,) = system.home.glob("venv/lib/python*/site-packages/torch/lib")
    stub_cuda.make(libraries)


def observed(system, environment, *, says, says_not, name="train"):
    """Runs README's first example, and checks that it was observed. Returns what was counted."""
    done = system.run(f". {environment}/bin/activate && cd work && rm -f {name}.castscope* {name}.json &&"
                      f" castscope run -o {name} -- python train.py")
    report = json.loads((system.home / "work" / f"{name}.json").read_text())
    counted = {key: report["totals"][key] for key in ("casts", "cache_hits")}
    assert report["run"]["complete"] and counted["casts"] > 0, report["run"]
    for text in says:
        assert re.search(text, done), f"{text} is not in:\n{done}"
    for text in says_not:
        assert not re.search(text, done), f"{text} is in:\n{done}"
    print(f"{system.name}: observed, {counted}", flush=True)
    return counted


def install(system, wheel, environment="venv"):
    system.run(f"{environment}/bin/pip install -q --no-index --find-links /castscope castscope &&"
               f" {environment}/bin/castscope version", wheels=wheel.parent, at="castscope")
    (system.home / "work").mkdir(exist_ok=True)
    shutil.copy(JOB, system.home / "work" / "train.py")
    os.chmod(system.home / "work", 0o777)


def debian_11(options):
    """No compiler, a /tmp that nothing may be started from; then the same home on Debian 13, which compiles."""
    old = System("debian-11", "bullseye", ["python3-venv"], options.folder)
    new = System("debian-13", "trixie", ["python3-venv", "python3-torch", "libtorch-dev", "g++"], options.folder,
                 home=old.home)
    assert not old.run("command -v cc gcc g++ c++ clang || true"), "there is a compiler"
    with_torch(old, fetched(options.folder, "3.9", options.torch))
    install(old, options.wheel)
    carried = {"says": [r"testing the agent"], "says_not": [r"building", r"cannot"]}
    first = observed(old, "venv", **carried)
    new.run("python3 -m venv --system-site-packages /home/job/venv-13")
    install(new, options.wheel, "venv-13")
    step("debian-13, with the same home: it compiles an agent for Debian's PyTorch")
    observed(new, "venv-13", says=[r"building"], says_not=[r"cannot"])
    ready = {"says": [], "says_not": [r"building", r"testing the agent", r"cannot"]}
    assert observed(old, "venv", **ready) == first
    observed(new, "venv-13", **ready)


def debian_12(options):
    """A compiler, and no agent in the program."""
    system = System("debian-12", "bookworm", ["python3-venv", "g++"], options.folder)
    with_torch(system, fetched(options.folder, "3.11", options.torch))
    install(system, options.wheel)
    carried = observed(system, "venv", says=[], says_not=[r"cannot"], name="carried")
    subprocess.run(["objcopy", "--remove-section", ".castscope.agents", system.home / "venv/bin/castscope"], check=True)
    shutil.rmtree(system.home / ".cache" / "castscope")
    step("debian-12, without the agents that the wheel carries")
    assert observed(system, "venv", says=[r"building"], says_not=[r"cannot"]) == carried


SYSTEMS = {"debian-11": debian_11, "debian-12": debian_12}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--torch", type=pathlib.Path, action="append", default=[], metavar="WHEEL")
    parser.add_argument("--only", choices=sorted(SYSTEMS))
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build" / "bare")
    parser.add_argument("wheel", type=pathlib.Path)
    options = parser.parse_args()
    chroots.check_that_it_can()
    options.wheel, options.folder = options.wheel.resolve(strict=True), options.folder.resolve()
    options.folder.mkdir(parents=True, exist_ok=True)
    for name, check in SYSTEMS.items():
        if options.only in (None, name):
            check(options)
            shutil.rmtree(options.folder / "systems")
    step("The wheel works on these systems")


if __name__ == "__main__":
    main()
