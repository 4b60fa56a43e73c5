"""The end of a run of ten million events: how long castscope takes after its job, and how much memory it ever had."""

import pathlib
import subprocess
import sys
import tempfile
import time

import measure
import runs

JOB = measure.HERE.parent / "same_reports" / "jobs" / "many_casts.py"
AS_JOB = '"$@" && date +%s.%N >ended'


def most_memory(process):
    """Waits for the process, and returns the most memory of its own that was seen, in MB. Pages of the program are no
    memory of its own: they are the file's, and the kernel maps those beside a page that is used."""
    most = 0
    while process.poll() is None:
        try:
            status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        except OSError:
            break
        most = max([most] + [int(line.split()[1]) for line in status.splitlines() if line.startswith("RssAnon:")])
        time.sleep(0.002)
    process.wait()
    return most / 1024


def once(castscope):
    with tempfile.TemporaryDirectory() as folder:
        command = [str(castscope), "run", "--force", "--deep", "never", "--keep", "all", "-o", "run", "--",
                   "sh", "-c", AS_JOB, "sh", sys.executable, str(JOB)]
        with subprocess.Popen(command, cwd=folder, env=runs.clean_environment(), stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE) as process:
            megabytes = most_memory(process)
            ended = time.time()
            if process.returncode != 0:
                raise SystemExit(f"bench: {' '.join(command)} ended with {process.returncode}:\n"
                                 f"{process.stderr.read().decode()}")
        return {"s": ended - float((pathlib.Path(folder) / "ended").read_text()), "mb": megabytes}
