"""The acceptance run: whether castscope is exact beside the PyTorch of the Python that runs this.

    python tests/matrix/acceptance.py [CHECK…]

It needs nothing but PyTorch and what PyTorch needs, a built castscope (CASTSCOPE_BUILD, or build/) and g++. It prints
one JSON object: the versions, and for each check whether it came out exact, or why not.
"""

import collections
import concurrent.futures
import functools
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "conformance")]
import agent_headers  # noqa: E402
import counted  # noqa: E402
import native  # noqa: E402
import runs  # noqa: E402

LOOPS = ["nested.py", "checkpointed.py", "scaler.py", "threads.py", "coming_and_going.py", "backward_inside.py"]
# Where PyTorch's cache serves no wrong copy. It does where a region lies in another of another dtype (nested.py), and
# before 2.11 where backward is called in a region whose copies were made under no_grad, by a reentrant checkpoint.
# The enforced policy's cache does not.
WITHOUT_WRONG_COPIES = ["checkpointed.py outside", *LOOPS[2:]]
DEEP = ("--deep", "always")
ENFORCED = ("--enforce", "torch-cpu")


class NotRun(Exception):
    """The check has no meaning beside this PyTorch."""


def job(name, *arguments):
    folder = HERE if (HERE / name).exists() else runs.WORKLOADS
    return [sys.executable, str(folder / name), *arguments]


def last_words(outcome):
    lines = outcome.stderr.decode(errors="replace").strip().splitlines()
    errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Failed)\b|.*fatal error", line)]
    return (errors or lines or [""])[-1]


def must(holds, complaint):
    if not holds:
        raise AssertionError(complaint)


def must_be_the_same_job(alone, traced, status):
    if alone.status != status:
        raise NotRun(f"PyTorch itself does not run the job here: {last_words(alone)}")
    must(traced.status == status,
         f"under castscope the job ends with {traced.status}: {last_words(traced)}")
    must(traced.stdout == alone.stdout, "the job prints other numbers under castscope")
    must(traced.report is not None and traced.report["processes"], f"castscope saw nothing: {last_words(traced)}")


@functools.cache
def alone_outcome(*command):
    with tempfile.TemporaryDirectory(prefix="castscope-acceptance-") as folder:
        return runs.plain(command, pathlib.Path(folder) / "alone")


def counts_are_exact(folder, command, status=0):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        counting = pool.submit(runs.under_oracle, command, folder / "oracle")
        tracing = pool.submit(runs.under_castscope, command, folder / "castscope")
        alone = alone_outcome(*command)
        counted_, traced = counting.result(), tracing.result()
    must_be_the_same_job(alone, traced, status)
    must(counted_.stdout == alone.stdout and counted_.counts.casts > 0, "the oracle counts nothing")
    counted.assert_totals(traced.report, counted_.counts)
    counted.assert_sites(traced.report, counted_.counts)
    return traced.report


def compiled(backend):
    def check(folder):
        report = counts_are_exact(folder, job("compiled.py", backend, "step"))
        if backend != "eager":  # which has no graphs
            must(not any("no compiled graph was seen" in notice for notice in report["run"]["notices"]),
                 "this PyTorch does not say which compiled graph it runs: what graphs cast is not counted, and the run "
                 "says so")

    return check


def builds_from_the_wheel_alone(folder):
    headers = agent_headers.headers_of_the_agent(runs.CASTSCOPE, sys.executable, folder, runs.clean_environment())
    must(any(header.endswith("ATen/core/dispatch/Dispatcher.h") for header in headers), "no header was looked at")
    foreign = agent_headers.foreign(headers)
    must(not foreign, f"the agent needs {', '.join(map(str, sorted(foreign.values())))}")
    done = subprocess.run([runs.CASTSCOPE, "doctor", "--build", "--", sys.executable], env=runs.clean_environment(),
                          capture_output=True, text=True, check=False)
    must(done.returncode == 0, f"castscope doctor --build ends with {done.returncode}: {done.stdout.strip()}")


def lines(folder):
    said = {}
    for number, line in enumerate((HERE / "places.py").read_text().splitlines(), 1):
        if mark := re.search(r"# casts: (\d+) in ([^\s,]+)(?:, before 3\.11 (\S+))?", line):
            old = mark[3] if sys.version_info < (3, 11) else None
            said[number, old or mark[2]] = int(mark[1])
    report = counts_are_exact(folder, job("places.py"))
    seen = collections.Counter()
    for site in report["sites"]:
        place = site["location"]
        if site["cause"] == "autocast":
            must(site["operator"] and site["argument"], f"a cast in line {place['line']} is for no operator")
            seen[place["line"], place["function"]] += site["casts"]
    must(dict(seen) == said, f"casts by line and function: {dict(seen)} instead of {said}")


def is_the_same_job_with(options, *commands):
    def check(folder):
        for number, command in enumerate(commands):
            traced = runs.under_castscope(command, folder / f"castscope-{number}", *options)
            must_be_the_same_job(alone_outcome(*command), traced, 0)

    return check


CHECKS = {
    "builds": builds_from_the_wheel_alone,
    "loops": lambda folder: counts_are_exact(folder, job("forks.py", *LOOPS)),
    "lines": lines,
    "script and trace": lambda folder: counts_are_exact(folder, job("scripted.py")),
    "compile: eager": compiled("eager"),
    "compile: aot_eager": compiled("aot_eager"),
    "compile: inductor": compiled("inductor"),
    "children": lambda folder: counts_are_exact(folder, job("processes.py"), status=9),
    "kill -9": lambda folder: counts_are_exact(folder, job("killed.py"), status=-9),
    "deep steps": is_the_same_job_with(DEEP, job("forks.py", *LOOPS)),
    "enforced": is_the_same_job_with(ENFORCED, job("forks.py", *WITHOUT_WRONG_COPIES), job("scripted.py"),
                                     job("compiled.py", "aot_eager", "step")),
}


def outcome_of(check):
    with tempfile.TemporaryDirectory(prefix="castscope-acceptance-") as folder:
        try:
            check(pathlib.Path(folder))
        except NotRun as why:
            return {"exact": None, "why": str(why)}
        except AssertionError as why:
            place = traceback.extract_tb(why.__traceback__)[-1]
            return {"exact": False, "why": str(why) or f"{place.name}: {place.line}"}
        except Exception as why:  # noqa: BLE001  whatever it was, the check failed
            return {"exact": False, "why": f"{type(why).__name__}: {why}"}
    return {"exact": True, "why": None}


def versions():
    torch = native.torch_folder()
    version = {}
    exec((torch / "version.py").read_text(), version)  # noqa: S102  importing PyTorch would take seconds
    said = subprocess.run([*native.COMPILER, "--version"], capture_output=True, text=True, check=True).stdout
    (core, *_) = [*torch.glob("lib/libc10.so"), *pathlib.Path("/usr/lib").glob("*/libc10.so*")]
    old_string = b"torchCheckFailEPKcS2_jRKSs" in core.read_bytes()
    return {"torch": version["__version__"], "python": platform.python_version(),
            "compiler": said.splitlines()[0].split()[-1],
            "glibc": platform.libc_ver()[1], "old_string": old_string,
            "numpy": importlib.metadata.version("numpy"),
            "triton": bool(importlib.util.find_spec("triton"))}


def main():
    os.environ.pop("TORCHINDUCTOR_CACHE_DIR", None)
    chosen = sys.argv[1:] or list(CHECKS)
    result = versions() | {"checks": {}}
    for name in chosen:
        result["checks"][name] = outcome_of(CHECKS[name])
        print(f"{name}: {result['checks'][name]}", file=sys.stderr, flush=True)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
