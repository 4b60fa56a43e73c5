"""What comes out otherwise of the system calls of a process that runs under the program system_calls."""

import errno
import functools
import pathlib
import struct
import subprocess
import tempfile

import runs

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
        done = subprocess.run([*calls.under, "true"], capture_output=True, text=True, check=False)
        return done.stderr.strip()
