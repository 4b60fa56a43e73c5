"""A job that imports this ends only when the threads of its backward passes have let go of them.

They are PyTorch's, and drop a pass's context (`contextvars`) when it is over. One that does so while Python is being
taken down ends the process with "terminate called without an active exception": seen with PyTorch 2.13 on a busy
machine, without castscope too (https://github.com/pytorch/pytorch/issues/190489).
"""

import atexit
import threading
import weakref

import torch

_contexts = []
_one_is_gone = threading.Condition()
_stash = getattr(torch._C, "_stash_obj_in_tls", None)


def _gone(_):
    with _one_is_gone:
        _one_is_gone.notify_all()


def _stash_and_know(key, value):
    if key == "context":
        _contexts[:] = [context for context in _contexts if context() is not None]
        _contexts.append(weakref.ref(value, _gone))
    _stash(key, value)


@atexit.register
def _wait():
    with _one_is_gone:
        _one_is_gone.wait_for(lambda: all(context() is None for context in _contexts), timeout=60)


if _stash is not None:
    torch._C._stash_obj_in_tls = _stash_and_know
