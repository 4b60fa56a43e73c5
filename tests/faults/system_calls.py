"""What comes out otherwise of the system calls of a process that runs under the program system_calls."""

import errno
import functools
import pathlib
import struct
import subprocess
import tempfile
import time

import runs

DAY_S = 24 * 60 * 60
PROGRAM = runs.CASTSCOPE.parent / "tests" / "faults" / "system_calls"


class SystemCalls:
    """Put `under` before a command; then its syncs and its wall clock are as the last `come_out` said."""

    def __init__(self, file):
        self.file = pathlib.Path(file)
        self.file.write_bytes(bytes(24))
        self.under = [str(PROGRAM), str(self.file)]

    def come_out(self, sync_ms=0, syncs_fail=False, clock_s=0):
        with open(self.file, "r+b", buffering=0) as state:
            state.write(struct.pack("<3q", sync_ms, errno.EIO if syncs_fail else 0, clock_s))


@functools.cache
def trouble():
    """Why there are no such system calls here; "" where there are."""
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        calls = SystemCalls(f"{folder}/state")
        calls.come_out(syncs_fail=True, clock_s=-2 * DAY_S)
        told, synced = (subprocess.run([*calls.under, *command], capture_output=True, text=True, check=False)
                        for command in (["date", "+%s"], ["sync", calls.file]))
        if told.returncode != 0:
            return told.stderr.strip()
        if int(told.stdout) > time.time() - DAY_S:
            return "the clock of a process cannot be set"
        return "" if "Input/output error" in synced.stderr else "syncs cannot be made to fail"
