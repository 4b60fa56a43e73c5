"""Segments that the agent of that commit left: how each program reads them, and the run file that it makes from
them."""

import time

from same_answers import compare, say
from same_recording import dumped, keep_segments, recover, segments_in


def compare_segments(job, other, this, folder, result):
    began, before = time.monotonic(), result.compared
    say(f"{job.name}: segments")
    kept = folder / "other"
    keep_segments(other, job, kept)
    for number, path in enumerate(segments_in(kept), 1):
        was, now = (dumped(program, path) for program in (other, this))
        again = lambda: [dumped(other, path)]  # noqa: B023, E731 - at once
        result.add(job.name, f"lanes_dump of segment {number}", *compare(was, now, again))
    was, now = (recover(program, kept, folder / "recovered") for program in (other, this))
    # Twice: the clock's rate, and with it some ns, is known better with each second that passes.
    again = lambda: [recover(other, kept, folder / "recovered") for _ in range(2)]  # noqa: E731
    result.add(job.name, "recover, from the segments of that commit's agent", *compare(was, now, again))
    say(f"{job.name}: {result.compared - before} comparisons of segments, {time.monotonic() - began:.0f} s")
