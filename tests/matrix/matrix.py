"""Runs the acceptance run beside other PyTorchs, keeps what came of it in docs/compatibility.json, and writes
docs/compatibility.md from that. See scripts/matrix."""

import argparse
import concurrent.futures
import email
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import compatibility  # noqa: E402
import rule_reasons  # noqa: E402
import stub_cuda  # noqa: E402

ROOT = HERE.parent.parent
FOLDER = pathlib.Path(os.environ.get("CASTSCOPE_BUILD", ROOT / "build")) / "matrix"
# What PyTorch needs that is not a library of a GPU's maker, nor a compiler for one.
NEEDED = {"filelock", "typing-extensions", "setuptools", "sympy", "networkx", "jinja2", "fsspec"}


def step(text):
    print(f"\n== {text}", file=sys.stderr, flush=True)


def pip(python, *arguments):
    subprocess.run([python, "-m", "pip", "--disable-pip-version-check", *map(str, arguments)], check=True,
                   stdout=sys.stderr, env=os.environ | {"PIP_CONSTRAINT": os.devnull})


def fetched(version, interpreter):
    """The wheel of exactly this version: "===" takes no other build for a later one, and what a machine allows its
    environments to have does not count."""
    step(f"Fetching torch {version}")
    folder = FOLDER / "wheel"
    shutil.rmtree(folder, ignore_errors=True)
    pip(interpreter, "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", folder,
        f"torch==={version}")
    (wheel,) = folder.glob("*.whl")
    return wheel


def requirements(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", name)]
        lines = email.message_from_bytes(archive.read(name)).get_all("Requires-Dist", [])
    chosen = [line for line in lines if re.match(r"[\w.-]+", line)[0].lower().replace("_", "-") in NEEDED]
    return [line for line in chosen if "extra ==" not in line]


def environment_of(wheel):
    """Each version has a path of its own: what tests compile is kept by the path of its headers."""
    return FOLDER / wheel.stem


def installed(wheel, interpreter):
    """A Python with this PyTorch, and with nothing of CUDA."""
    step(f"Installing {wheel.name}")
    venv = environment_of(wheel)
    shutil.rmtree(venv, ignore_errors=True)
    subprocess.run([interpreter, "-m", "venv", str(venv)], check=True)
    python = venv / "bin" / "python"
    pip(python, "install", "--quiet", "--no-compile", "numpy", *requirements(wheel))
    pip(python, "install", "--quiet", "--no-compile", "--no-deps", wheel)
    (libraries,) = venv.glob("lib/python*/site-packages/torch/lib")
    stub_cuda.make(libraries)
    return python


def environment_with(what, interpreter):
    """Returns a new environment's folder, and its Python."""
    wheel = pathlib.Path(what) if what.endswith(".whl") else fetched(what, interpreter)
    python = installed(wheel, interpreter)
    shutil.rmtree(FOLDER / "wheel", ignore_errors=True)
    return environment_of(wheel), python


def environments(whats, interpreter):
    """Yields the environment of each. The next one is fetched and installed while the caller works with this one."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        coming = None
        for what, after in itertools.zip_longest(whats, whats[1:]):
            made = (coming or pool.submit(environment_with, what, interpreter)).result()
            coming = after and pool.submit(environment_with, after, interpreter)
            yield made


def environment_of_runs():
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment["XDG_CACHE_HOME"] = str(FOLDER / "cache")  # the agent is built anew
    # It is installed without bytecode, which the first job writes: otherwise each job would compile PyTorch's sources.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    masquerade = pathlib.Path("/usr/lib/ccache")  # compilers by their own names: Inductor takes no CXX of two words
    if masquerade.is_dir():
        environment |= {"PATH": f"{masquerade}:{environment['PATH']}", "CCACHE_BASEDIR": str(ROOT),
                        "CCACHE_NOHASHDIR": "1"}
    return environment


def accept(python, checks):
    step("The acceptance run")
    shutil.rmtree(FOLDER / "cache", ignore_errors=True)
    done = subprocess.run([python, HERE / "acceptance.py", *checks], env=environment_of_runs(), stdout=subprocess.PIPE,
                          text=True, check=True)
    print(done.stdout.strip(), flush=True)
    return json.loads(done.stdout)


def judge_rules(python):
    step("The rules")
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([python, HERE / "rules.py", folder + "/rules"], env=environment_of_runs(),
                              stdout=subprocess.PIPE, text=True, check=True)
    rule_reasons.keep(json.loads(done.stdout))


def tell(outcome):
    """For CI. Returns whether each check came out exact."""
    wrong = {name: check["why"] for name, check in outcome["checks"].items() if not check["exact"]}
    for name, why in wrong.items():
        print(f"PyTorch {outcome['torch']}: {name}: {why}")
    return not wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", action="append", default=[], metavar="PYTHON")
    parser.add_argument("--interpreter", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--check", action="append", default=[], metavar="NAME")
    parser.add_argument("--rules", action="store_true", help="say what castscope's rules find there")
    parser.add_argument("--keep", action="store_true", help="leave the environments in build/matrix")
    parser.add_argument("--tell", action="store_true", help="write no file, and end with 1 where a check is not exact")
    parser.add_argument("what", nargs="*", metavar="VERSION|WHEEL")
    options = parser.parse_args()
    done_with = tell if options.tell else compatibility.keep
    outcomes = []
    for python in options.python:
        outcomes.append(done_with(accept(python, options.check)))
        if options.rules:
            judge_rules(python)
    for venv, python in environments(options.what, options.interpreter):
        outcomes.append(done_with(accept(python, options.check)))
        if options.rules:
            judge_rules(python)
        if not options.keep:
            shutil.rmtree(venv)
    if options.tell:
        sys.exit(0 if all(outcomes) else 1)
    compatibility.write()


if __name__ == "__main__":
    main()
