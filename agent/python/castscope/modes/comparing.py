"""compare(): runs a function in each mode and lays the results side by side."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Callable

import torch

from castscope.modes.arguments import Inputs
from castscope.modes.as_table import tell
from castscope.modes.comparison import Comparison, rows_of
from castscope.modes.names import MODES
from castscope.modes.recording import Options, Recording, record, uncompiled
from castscope.modes.state import RandomStates, ambient_autocast
from castscope.modes.values import compare_outputs, same_values


def compare(function: Callable[..., Any], inputs: Any, modes: Iterable[str] = MODES, *, backward: bool = False,
            backend: Any = "inductor", fullgraph: bool = False, strict: bool | None = None,
            rtol: float | None = None, atol: float | None = None, name: str = "",
            progress: Callable[[str], None] | None = None) -> Comparison:
    """Compares what `function`, or a module, computes in each mode with what it computes in eager.

        with torch.autocast("cpu", dtype=torch.bfloat16):
            print(castscope.compare(model, (images,)))

    `inputs`: a tuple or list of positional arguments, a dict of keyword arguments, `castscope.modes.Arguments(args,
    kwargs)`, or a function that makes one of these. Each mode gets copies.

    The modes are called as compare() is: in the autocast region, grad mode and default dtype that are in force. The
    trace is made outside of that region, and the exported program is captured in it and run outside, as a saved one is.
    Random states, parameters, buffers, attributes of modules and gradients are the same before each mode and after all.

    `backward` compares gradients (of the sum of all outputs) as well. `backend` and `fullgraph` are torch.compile's,
    `strict` torch.export.export's. `rtol` and `atol` bound the values; else torch.testing's do for the less precise
    dtype. `progress` is called with each mode's name as it begins.

    A mode that refuses the function is listed with its error, and the others go on.
    """
    wanted = _wanted(modes)
    function = uncompiled(function)
    name = name or getattr(function, "__name__", None) or type(function).__name__
    random = RandomStates()
    copies = Inputs(inputs)
    options = Options(backend=backend, fullgraph=fullgraph, strict=strict, backward=backward)
    recordings: dict[str, Recording] = {}
    for mode in wanted:
        if progress is not None:
            progress(mode)
        random.restore()
        recordings[mode] = record(mode, function, copies, options)
    random.restore()
    if not recordings["eager"].error and len(wanted) > 1:
        again = record("eager", function, copies, options)
        recordings["eager"].notes += _not_repeatable(recordings["eager"], again)
        random.restore()
    if backend == "inductor" and recordings["eager"].draws and "compile" in recordings:
        recordings["compile"].notes += _inductors_own()
    comparison = _beside_eager(name, recordings, copies.notes, rtol, atol)
    tell(comparison)
    return comparison


def _not_repeatable(eager: Recording, again: Recording) -> list[str]:
    """Values that Python keeps outside modules and tensors are not put back: then modes are compared with chance."""
    def computed(recording: Recording) -> list[Any]:
        return [(unit.operator, unit.input_dtypes, unit.output_dtype) for unit in recording.units]
    if computed(eager) != computed(again):
        what = "computes otherwise"
    elif not _same_outputs(eager, again):
        what = "gives other values"
    else:
        return []
    return [f"{what} when it is called again: something that it keeps in Python was not put back, and differences "
            "between modes may come from that"]


def _same_outputs(eager: Recording, again: Recording) -> bool:
    return eager.outputs.keys() == again.outputs.keys() and all(
        same_values(tensor, again.outputs[name]) for name, tensor in eager.outputs.items())


def _inductors_own() -> list[str]:
    from torch._inductor import config
    return [] if config.fallback_random else [
        "inductor draws random numbers of its own (torch._inductor.config.fallback_random is off): values that depend "
        "on them differ"]


def _wanted(modes: Iterable[str]) -> list[str]:
    """Modes in the usual order, always with eager."""
    asked = [modes] if isinstance(modes, str) else list(modes)
    unknown = [mode for mode in asked if mode not in MODES]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is not a mode: {', '.join(MODES)}")
    return [mode for mode in MODES if mode == "eager" or mode in asked]


def _beside_eager(name: str, recordings: dict[str, Recording], notes: list[str], rtol: float | None,
                  atol: float | None) -> Comparison:
    eager = recordings["eager"]
    ran = {} if eager.error else {mode: recording for mode, recording in recordings.items()
                                  if mode != "eager" and recording.error is None}
    ambient = ambient_autocast()
    outputs, notes_of = {}, {}
    for mode, recording in recordings.items():
        notes_of[mode] = [*recording.notes, *_left_behind(recording, eager)]
        if mode in ran:
            outputs[mode], more = compare_outputs(eager, recording, rtol, atol)
            notes_of[mode] += more
    for mode in ran:  # once is enough
        notes_of[mode] = [note for note in notes_of[mode] if note not in notes_of["eager"]]
    notes_of["eager"] = [*notes, *notes_of["eager"]]
    return Comparison(
        name=name, modes=tuple(recordings), ambient=ambient,
        rows=rows_of(eager.units, {mode: recording.units for mode, recording in ran.items()}, ambient),
        errors={mode: recording.error for mode, recording in recordings.items() if recording.error},
        outputs=outputs, notes=notes_of, torch=torch.__version__)


def _left_behind(recording: Recording, eager: Recording) -> list[str]:
    """What the function changes and draws; for other modes only if it differs from eager."""
    if recording.error is not None:
        return []
    notes = []
    if recording is eager or set(recording.changes) != set(eager.changes):
        if recording.changes:
            notes.append(f"changes {_some(recording.changes)} (put back)")
        elif recording is not eager:
            notes.append(f"does not change {_some(eager.changes)}, as eager does")
    if recording is eager and recording.draws:
        notes.append(f"draws random numbers from {' and '.join(recording.draws)}: each mode began with the same state")
    elif set(recording.draws) != set(eager.draws):
        notes.append(f"draws from {' and '.join(recording.draws) or 'no random generator'}, "
                     f"eager from {' and '.join(eager.draws) or 'none'}")
    return notes


def _some(names: list[str]) -> str:
    return ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")
