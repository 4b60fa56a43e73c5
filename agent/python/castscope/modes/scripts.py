"""Runs a script or module as `python SCRIPT` and `python -m MODULE` do, and leaves its __main__ in place.

runpy takes the module away when the script is over. But TorchScript and pickle look for a class in
sys.modules["__main__"], so that what the script defines could not be compared.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import io
import os
import sys
import traceback
import types
from typing import Any


class ScriptFailed(Exception):
    """The script did not come to its end; Python's message has been printed. `status`: the exit status it would have.
    """

    def __init__(self, status: int):
        super().__init__(status)
        self.status = status


def run_script(path: str, arguments: list[str]) -> None:
    """As Python does it, a script's folder comes first in sys.path, and its path is absolute except in sys.argv."""
    file = os.path.abspath(path)
    with io.open_code(file) as opened:
        source = opened.read()
    main = _new_main(file, None)
    sys.argv[:] = [path, *arguments]
    sys.path[0] = os.path.dirname(os.path.realpath(path))
    _execute(main, file, source)


def run_module(name: str, arguments: list[str]) -> None:
    """The current folder comes first in sys.path. A package is its __main__."""
    sys.path[0] = os.getcwd()
    spec = importlib.util.find_spec(name)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = importlib.util.find_spec(f"{name}.__main__")
    loader = spec.loader if spec is not None else None
    if spec is None or not hasattr(loader, "get_code"):
        raise ModuleNotFoundError(f"No module named {name}", name=name)
    main = _new_main(spec.origin or name, spec)
    sys.argv[:] = [spec.origin or name, *arguments]
    _execute(main, spec.origin or name, loader.get_code(spec.name))  # type: ignore[union-attr]


def _new_main(path: str, spec: importlib.machinery.ModuleSpec | None) -> types.ModuleType:
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=path, __cached__=None, __builtins__=__builtins__, __spec__=spec,
                         __package__=spec.parent if spec is not None else None,
                         __loader__=spec.loader if spec is not None
                         else importlib.machinery.SourceFileLoader("__main__", path))
    sys.modules["__main__"] = main
    return main


def _execute(main: types.ModuleType, path: str, source: Any) -> None:
    """sys.exit() and sys.exit(0) end a script that went well."""
    try:
        code = source if isinstance(source, types.CodeType) else compile(source, path, "exec", dont_inherit=True)
        exec(code, main.__dict__)
    except SystemExit as exit:
        if exit.code not in (None, 0):
            if not isinstance(exit.code, int):
                print(exit.code, file=sys.stderr)
            print(f"castscope: {os.path.basename(path)} ended by sys.exit: its entries are not compared",
                  file=sys.stderr)
            raise ScriptFailed(exit.code if isinstance(exit.code, int) else 1) from None
    except BaseException as error:
        _show(error, path)
        raise ScriptFailed(1) from None


def _show(error: BaseException, path: str) -> None:
    """Prints the error as Python does: from the script's own frame on."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    traceback.print_exception(type(error), error, trace)
