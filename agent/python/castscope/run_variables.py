"""The variables by which a process that others start joins the run of this one."""

from __future__ import annotations

import os
from collections.abc import Mapping

_LIBRARY = "/libcastscope.so"
_LENDING = "/agent/python/lending"
_COMPILED = "TORCH_COMPILE_CACHE_KEY_TAG"
# Variables that describe this process, and that its workers must not inherit.
_NOT_HANDED_ON = {"CASTSCOPE_ONE_RANK", "CASTSCOPE_PYTEST_CHILD", "CASTSCOPE_PROGRAM"}


def of_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Empty where castscope's library is not in this process, or takes no part in it."""
    library = _ours(environment.get("LD_PRELOAD", "").replace(" ", ":"), _LIBRARY)
    if not library or environment.get("CASTSCOPE_OFF", "0") not in ("", "0"):
        return {}
    joining = {"LD_PRELOAD": library}
    joining.update({name: value for name, value in environment.items()
                    if name.startswith("CASTSCOPE_") and name not in _NOT_HANDED_ON})
    lending = _ours(environment.get("PYTHONPATH", ""), _LENDING)
    if lending:
        joining["PYTHONPATH"] = lending
    if "castscope-" in environment.get(_COMPILED, ""):
        joining[_COMPILED] = environment[_COMPILED]
    return joining


def _ours(paths: str, end: str) -> str:
    return next((path for path in paths.split(":") if path.endswith(end)), "")
