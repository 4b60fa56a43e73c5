"""Talk to castscope from inside a job.

Everything here is inert when the job does not run under castscope: a script may call it unconditionally.
"""

from __future__ import annotations

import ctypes
from typing import Callable, Optional

__all__ = ["attached", "step"]
__version__ = "0.1.0"


def _find(name: str, result: Optional[type]) -> Optional[Callable[[], int]]:
    """A function of the preload library, where it is loaded. PyDLL: the agent is called with the GIL held."""
    try:
        function = getattr(ctypes.PyDLL(None), name)
    except (AttributeError, OSError):
        return None
    function.argtypes = []
    function.restype = result
    return function


_step = _find("castscope_step", None)
_attached = _find("castscope_attached", ctypes.c_int)


def attached() -> bool:
    """Whether castscope is watching this process: the job runs under it, and PyTorch has been imported."""
    return _attached is not None and _attached() != 0


def step() -> None:
    """End the present step and begin the next.

    Without it, a step ends at the last optimizer step before the next outermost autocast region (or with that region
    where there is no optimizer). The first call switches that rule off for this process.
    """
    if _step is not None:
        _step()
