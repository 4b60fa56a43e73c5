"""Stands in for apex, under `castscope run --apex`: where none is installed, `apex.amp` is castscope.amp.

An apex that is installed is left alone, and one line on stderr says so. apex's other modules are not there; importing
one raises an ImportError that says what to write instead.
"""

from __future__ import annotations

import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

_INSTEAD: dict[str, str] = {
    "parallel": "torch.nn.parallel.DistributedDataParallel, or torch.nn.SyncBatchNorm",
    "optimizers": "the optimizer of torch.optim, with fused=True",
    "normalization": "torch.nn.LayerNorm or torch.nn.RMSNorm",
    "fp16_utils": "castscope.amp",
    "contrib": "torch.nn.functional",
    "multi_tensor_apply": "torch._foreach_mul and its like",
}


def install() -> None:
    """Makes `import apex` ask here first; called by sitecustomize.py."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder:
    """An entry of sys.meta_path, before the others, which it asks."""

    def __init__(self) -> None:
        self._told = False
        self._asking = False

    def find_spec(self, name: str, path: Sequence[str] | None = None,
                  target: ModuleType | None = None) -> importlib.machinery.ModuleSpec | None:
        if name == "apex" and not self._asking:
            return self._find_apex(path, target)
        module = sys.modules.get("apex")
        if name.startswith("apex.") and isinstance(getattr(module, "__loader__", None), _Loader):
            # `from apex import optimizers` swallows an error with the module's name, and says "cannot import name".
            raise ModuleNotFoundError(_sentence(name), name="apex")
        return None

    def _find_apex(self, path: Any, target: Any) -> importlib.machinery.ModuleSpec | None:
        from castscope.policy_functions import found_by_others

        self._asking = True
        try:
            spec = found_by_others(self, "apex", path, target)
        finally:
            self._asking = False
        if spec is None or spec.origin is None:  # a folder of that name, without code, is not apex
            return importlib.machinery.ModuleSpec("apex", _Loader(), is_package=True)  # type: ignore[arg-type]
        self._tell(spec.origin)
        return spec

    def _tell(self, origin: str) -> None:
        if not self._told and sys.stderr is not None:
            sys.stderr.write(f"castscope: apex is installed ({origin}) and is used as it is: --apex stands in for it "
                             "only where there is none\n")
        self._told = True


class _Loader:
    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        from castscope import amp

        module.__doc__ = "castscope.amp in apex's place, by `castscope run --apex`."
        vars(module)["amp"] = amp
        sys.modules["apex.amp"] = amp


def _sentence(name: str) -> str:
    instead = _INSTEAD.get(name.split(".")[1])
    return (f"No module named {name!r}: `castscope run --apex` stands in for apex.amp alone"
            + (f"; write {instead} instead" if instead else ""))
