"""`python -m castscope.modes`: compares a script's entries, or a function by its name.

Exit status: 0 all compute in the same precision, 1 they do not (or a mode refused), 2 wrong usage, 3 the script failed,
or nothing was observed.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from castscope.modes import entries
from castscope.modes.entries import Entry
from castscope.modes.scripts import ScriptFailed, run_module, run_script

SAME, DIFFERENT, USAGE, FAILED = 0, 1, 2, 3

_EXAMPLES = """\
A script says what can be compared; it is run as python runs it, then its entries are compared:

    @castscope.entry(inputs=lambda: (torch.randn(8, 16),))
    def step(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return model(x)

examples:
  python -m castscope.modes train.py --epochs 1
  python -m castscope.modes --modes script,compile -m project.train
  python -m castscope.modes --entry project.model:step --inputs project.model:make_batch
  python -m castscope.modes --json modes.json --html modes.html train.py

exit status: 0 all compute in the same precision, 1 they do not, or a mode refused the function, 2 wrong usage,
3 the script failed, or nothing was observed
"""

_NO_ENTRIES = """\
{script} has nothing to compare. Say what is, with inputs for it:

    import castscope

    @castscope.entry(inputs=lambda: (torch.randn(8, 16),))
    def step(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return model(x)

or, for a module: castscope.entry(inputs=make_batch)(model)
"""


class _Usage(Exception):
    pass


def main(arguments: Sequence[str]) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        modes = _modes(options.modes)
        _refuse_existing(options)
        with _stdout_for_results() as stdout:
            to_compare = _entries(options, parser.prog)
            results, failed = _all_compared(to_compare, modes)
            _write(results, options, stdout)
            if failed:
                return FAILED
    except _Usage as error:
        print(f"castscope: {error}", file=sys.stderr)
        return USAGE
    except ScriptFailed:
        return FAILED
    if not all(result.same_precision for result in results if result.observed or result.errors):
        return DIFFERENT
    return SAME if all(result.observed for result in results) else FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=os.environ.get("CASTSCOPE_PROGRAM", "python -m castscope.modes"),
        formatter_class=argparse.RawDescriptionHelpFormatter, epilog=_EXAMPLES,
        usage="%(prog)s [OPTION…] (SCRIPT [ARGUMENT…] | -m MODULE [ARGUMENT…] | --entry PACKAGE.MODULE:FUNCTION "
              "--inputs PACKAGE.MODULE:FUNCTION …)",
        description="Compares what PyTorch computes in eager, script, trace, compile and export, operator by operator.")
    parser.add_argument("--modes", metavar="A,B", help="compare only these with eager")
    parser.add_argument("--json", metavar="FILE", help="write the comparisons there as JSON, too")
    parser.add_argument("--html", metavar="FILE", help="write them there as a page with their tables, too")
    parser.add_argument("-f", "--format", choices=("text", "json", "html"), default="text",
                        help="format of what goes to standard output, or into -o FILE")
    parser.add_argument("-o", "--output", metavar="FILE", help="write to FILE instead of to standard output")
    parser.add_argument("--force", action="store_true", help="replace files that exist")
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="auto: on a terminal")
    parser.add_argument("--entry", metavar="PACKAGE.MODULE:FUNCTION", action="append", default=[],
                        help="a function or module to compare; may be given several times, each with --inputs")
    parser.add_argument("--inputs", metavar="PACKAGE.MODULE:FUNCTION", action="append", default=[],
                        help="what makes the inputs of the --entry before it, or the inputs themselves")
    parser.add_argument("-m", metavar="MODULE", dest="module", nargs=argparse.REMAINDER,
                        help="run a module in place of a script")
    parser.add_argument("script", metavar="SCRIPT", nargs=argparse.REMAINDER, help="a script, with its arguments")
    return parser


@contextlib.contextmanager
def _stdout_for_results() -> Iterator[TextIO]:
    """Only the result goes to standard output: prints by the script, the functions and their compilers go to standard
    error, from C++ as well."""
    sys.stdout.flush()
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as stdout:
        os.dup2(2, 1)
        try:
            yield stdout
        finally:
            sys.stdout.flush()
            stdout.flush()
            os.dup2(stdout.fileno(), 1)


def _modes(given: str | None) -> list[str] | None:
    from castscope.modes.names import MODES
    if given is None:
        return None
    modes = [mode.strip() for mode in given.split(",") if mode.strip()]
    for mode in modes:
        if mode not in MODES:
            raise _Usage(f"--modes: {mode!r} is not a mode; there are {', '.join(MODES)}")
    return modes


def _entries(options: argparse.Namespace, program: str) -> list[Entry]:
    command = options.module if options.module is not None else options.script
    if options.entry:
        if command:
            raise _Usage("give either --entry or a script, not both")
        if len(options.entry) != len(options.inputs):
            raise _Usage(f"{len(options.entry)} --entry but {len(options.inputs)} --inputs: each entry needs its own")
        sys.path[0] = os.getcwd()
        return [Entry(_named(function), _named(inputs), None, function)
                for function, inputs in zip(options.entry, options.inputs)]
    if not command:
        raise _Usage(f"nothing to run: {program} --help tells how")
    _run(options.module is not None, command)
    if not entries.registered:
        raise _Usage(_NO_ENTRIES.format(script=command[0]).rstrip())
    return list(entries.registered)


def _run(as_module: bool, command: list[str]) -> None:
    try:
        (run_module if as_module else run_script)(command[0], command[1:])
    except (OSError, ModuleNotFoundError) as error:
        raise _Usage(f"cannot run {command[0]}: {error}") from None


def _named(path: str) -> Any:
    module, _, name = path.partition(":")
    if not name:
        raise _Usage(f"{path!r}: a function is named as package.module:function")
    try:
        value = importlib.import_module(module)
        for part in name.split("."):
            value = getattr(value, part)
    except (ImportError, AttributeError) as error:
        raise _Usage(f"{path}: {error}") from None
    return value


def _all_compared(to_compare: list[Entry], modes: list[str] | None) -> tuple[list[Any], bool]:
    """An entry whose inputs cannot be made, or that cannot be called, does not keep the others from being compared."""
    results, failed = [], False
    for one in to_compare:
        try:
            results.append(_compared(one, modes))
        except Exception as error:
            failed = True
            print(f"castscope: {one.name} cannot be compared: {type(error).__name__}: {error}{_place_of(error)}",
                  file=sys.stderr)
    return results, failed


def _place_of(error: Exception) -> str:
    from castscope.modes.errors import users_place  # it imports torch
    return users_place(error)


def _compared(one: Entry, modes: list[str] | None) -> Any:
    from castscope.modes.comparing import compare
    from castscope.modes.names import MODES
    started = time.monotonic()

    def progress(mode: str) -> None:
        print(f"castscope: {one.name}: {mode} …", file=sys.stderr, flush=True)
    result = compare(one.function, one.inputs, modes or one.modes or MODES, name=one.name, progress=progress)
    print(f"castscope: {one.name}: compared in {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    return result


def _refuse_existing(options: argparse.Namespace) -> None:
    """Called before the script runs, which may take long. A path that is not a file (a pipe, /dev/null) is just
    written."""
    given = {"-o": _output(options), "--json": options.json, "--html": options.html}
    named: dict[str, str] = {}
    for option, path in given.items():
        if not path:
            continue
        other = named.setdefault(os.path.realpath(path), option)
        if other != option:
            raise _Usage(f"{other} and {option} name the same file: {path}")
        if os.path.isfile(path) and not options.force:
            raise _Usage(f"{path} exists: choose another file, or --force")


def _output(options: argparse.Namespace) -> str | None:
    """None: standard output."""
    return None if options.output in (None, "-") else options.output


def _write(results: list[Any], options: argparse.Namespace, stdout: TextIO) -> None:
    if options.json:
        _write_file("--json", options.json, _json(results))
    if options.html:
        _write_file("--html", options.html, _html(results))
    output = _output(options)
    on_terminal = output is None and _on_terminal(stdout)
    text = (_json(results) if options.format == "json" else _html(results) if options.format == "html"
            else _text(results, options.color == "always" or options.color == "auto" and on_terminal))
    if output is None:
        stdout.write(text)
    else:
        _write_file("-o", output, text)


def _text(results: list[Any], colour: bool) -> str:
    return "\n\n".join(result.text(colour=colour) for result in results) + "\n"


def _json(results: list[Any]) -> str:
    from castscope.modes.as_json import document
    return json.dumps(document(results), indent=1, ensure_ascii=False) + "\n"


def _html(results: list[Any]) -> str:
    from castscope.modes.page import page
    return page(results)


def _write_file(option: str, path: str, text: str) -> None:
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise _Usage(f"{option}: {error}") from None


def _on_terminal(stream: TextIO) -> bool:
    return stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
