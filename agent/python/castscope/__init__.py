"""Talk to castscope from inside a job.

Steps and metrics are inert when the job does not run under castscope: a script may call them unconditionally.
Annotations (annotations.py) and castscope.amp work without it, on PyTorch alone.
"""

from __future__ import annotations

import ctypes
import importlib
import math
import numbers
from typing import TYPE_CHECKING, Any, Callable, SupportsFloat

if TYPE_CHECKING:
    from castscope import amp as amp
    from castscope.annotations import (
        float_function,
        force_fp32,
        half_function,
        never_cast,
        promote_function,
        register_float_function,
        register_half_function,
        register_promote_function,
    )
    from castscope.modes import Comparison as Comparison
    from castscope.modes import compare as compare
    from castscope.modes import entry as entry

_ANNOTATIONS = ("half_function", "float_function", "promote_function", "register_half_function",
                "register_float_function", "register_promote_function", "never_cast", "force_fp32")
_MODES = ("compare", "entry", "Comparison")

__all__ = ["attached", "metric", "step", "variables", "half_function", "float_function", "promote_function",
           "register_half_function", "register_float_function", "register_promote_function", "never_cast", "force_fp32"]
__version__ = "0.1.0"


def find(name: str, result: type | None, *arguments: type) -> Callable[..., int] | None:
    """For castscope's own modules: a function of the preload library, where it is loaded.

    PyDLL: the agent is called with the GIL held.
    """
    try:
        function = getattr(ctypes.PyDLL(None), name)
    except (AttributeError, OSError):
        return None
    function.argtypes = list(arguments)
    function.restype = result
    return function


_step = find("castscope_step", None)
_metric = find("castscope_metric", None, ctypes.c_char_p, ctypes.c_double)
_attached = find("castscope_attached", ctypes.c_int)
_rule_met = find("castscope_rule_met", None, ctypes.c_char_p)
_compared = find("castscope_compared", None, ctypes.c_char_p)


def attached() -> bool:
    """Whether castscope is watching this process: the job runs under it, and PyTorch has been imported."""
    return _attached is not None and _attached() != 0


def rule_met(rule: str) -> None:
    """For castscope's own modules: a rule of the policy has matched; the report lists the rules that have not."""
    if _rule_met is not None:
        _rule_met(rule.encode())


def compared(table: str) -> None:
    """For castscope's own modules: a comparison of modes, as JSON, for the report of the run."""
    if _compared is not None:
        _compared(table.encode("utf-8", "replace"))


def variables() -> dict[str, str]:
    """The environment variables by which a process that others start joins the run of this one; none where castscope
    does not watch it.

        ray.init(runtime_env={"env_vars": castscope.variables()})
    """
    return importlib.import_module("castscope.run_variables").of_environment()


def load_ipython_extension(shell: Any) -> None:
    """%load_ext castscope: the magic %%castscope."""
    importlib.import_module("castscope.notebook").load(shell)


def step() -> None:
    """End the present step and begin the next.

    Without it, a step ends at the last optimizer step before the next outermost autocast region (or with that region
    where there is no optimizer). The first call switches that rule off for this process.
    """
    if _step is not None:
        _step()


def metric(name: str, value: SupportsFloat) -> None:
    """Store a number of the present step, such as the loss, for the summary and the report.

    `value` is a Python number (NumPy's are such, too). A tensor raises TypeError: reading it would wait for the device,
    so the job decides where that is done. Of several numbers of one name in a step, the last one is kept.

        castscope.metric("loss", loss.item())
    """
    if not isinstance(name, str) or not name:
        raise TypeError(f"castscope.metric: the name of a metric is a text, not {name!r}")
    if not isinstance(value, numbers.Real):
        kind = type(value).__name__
        advice = ": to read it would wait for the device; give .item() where the job reads it anyway" if hasattr(
            value, "requires_grad") else ""
        raise TypeError(f"castscope.metric({name!r}, …) takes a Python number, not a {kind}{advice}")
    if _metric is not None:
        try:
            number = float(value)
        except OverflowError:  # an int that is larger than any float
            number = math.inf if value == abs(value) else -math.inf
        _metric(name.replace("\0", "?").encode("utf-8", "replace"), number)


def __getattr__(name: str) -> Any:
    """Larger modules are imported when they are asked for; castscope.amp imports PyTorch."""
    if name in _ANNOTATIONS:
        value = getattr(importlib.import_module("castscope.annotations"), name)
        globals()[name] = value
        return value
    if name in _MODES:
        return getattr(importlib.import_module("castscope.modes"), name)
    if name == "amp":
        return importlib.import_module("castscope.amp")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_ANNOTATIONS, *_MODES, "amp"})
