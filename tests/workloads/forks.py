"""Runs programs one after another, each in a fork of this process, which has imported what takes long to import.

    forks.py [--import MODULE] [--between LINE] [--pids FILE] bert.py "crowd.py 64" /elsewhere/job.py

A program is named by its path from here, and has its arguments beside it in quotes. It ends as it does alone, except
that it gives nothing back of what was imported. Exit status: 0 when that of each was 0.
"""

import argparse
import atexit
import gc
import importlib
import json
import os
import pathlib
import runpy
import shlex
import sys
import threading
import traceback

HERE = pathlib.Path(__file__).resolve().parent


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--import", dest="modules", action="append", default=["torch"])
    parser.add_argument("--between", metavar="LINE", help="printed after the output of each program")
    parser.add_argument("--pids", metavar="FILE", type=pathlib.Path, help="gets the process of each program")
    parser.add_argument("programs", nargs="*")
    return parser.parse_args()


def status_of(ending):
    """The exit status of a Python that ends with this exception; what that prints is printed."""
    if not isinstance(ending, SystemExit):
        traceback.print_exception(ending)
        return 1
    if ending.code is None or isinstance(ending.code, int):
        return (ending.code or 0) & 0xFF
    print(ending.code, file=sys.stderr)
    return 1


def run_to_its_end(program):
    """Ends this process. Python itself would let go of each object that it has, and so write into each page of them,
    which a fork then has to copy: ten times what most programs take."""
    try:
        run(program)
        status = 0
    except BaseException as ending:  # noqa: BLE001  Python would end with it, too
        status = status_of(ending)
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def run(program):
    path, *arguments = shlex.split(program)
    sys.argv = [str(HERE / path), *arguments]
    sys.path[0] = os.path.dirname(sys.argv[0])
    runpy.run_path(sys.argv[0], run_name="__main__")


def main():
    options = arguments()
    if len(options.programs) > 3:
        options.modules.append("torch._dynamo")  # optimizers import it when they are made
    for module in options.modules:
        importlib.import_module(module)
    gc.freeze()  # else each fork takes a second at its end to look through what was imported
    failed, pids = [], []
    for program in options.programs:
        child = os.fork()
        if child == 0:
            run_to_its_end(program)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        pids.append(child)
        if options.between:
            print(options.between, flush=True)
        if status:
            failed.append(f"{program}: exit status {status}")
    if options.pids:
        options.pids.write_text(json.dumps(pids))
    sys.exit("\n".join(failed) or 0)


if __name__ == "__main__":
    main()
