"""Casts in the threads that are started after init(), under `castscope run --apex`.

apex replaced PyTorch's functions, for all threads alike; autocast has a state for each thread. So a thread that
`threading` starts while a handle is active enters that handle's region before its own code runs, and leaves it at the
end. Threads that were there before, that C++ starts, or that `_thread` starts do not cast. Backward passes do not
either, in whatever thread they run: they are not meant to.
"""

from __future__ import annotations

import functools
import os
import threading
import weakref
from typing import Any, Callable

_latest: Callable[[], Any] | None = None  # a weak reference to the handle
_start = threading.Thread.start


def asked_for() -> bool:
    """Whether the job runs under `castscope run --apex`, which sets this variable."""
    return bool(os.environ.get("CASTSCOPE_APEX"))


def cast_in_new_ones(handle: Any) -> None:
    """Threads that start from now on cast in the region of this handle, as long as it is active."""
    global _latest
    _latest = weakref.ref(handle)
    if threading.Thread.start is _start:
        threading.Thread.start = _start_in_region  # type: ignore[method-assign, assignment]


@functools.wraps(_start)
def _start_in_region(thread: threading.Thread) -> None:
    handle = _latest() if _latest is not None else None
    if handle is not None and handle.is_active() and "run" not in vars(thread):
        thread.run = functools.partial(_run, thread, handle)  # type: ignore[method-assign]
    _start(thread)


def _run(thread: threading.Thread, handle: Any) -> None:
    vars(thread).pop("run", None)
    with handle.in_thread():
        thread.run()
