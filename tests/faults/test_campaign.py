"""The short form of scripts/faults."""

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def test_twenty_five_kinds_of_faults_lose_nothing_and_disturb_no_job():
    """Where there are no network namespaces, or no seccomp, it says so and leaves out what needs them."""
    done = subprocess.run([str(ROOT / "scripts" / "faults"), "--short"], capture_output=True, text=True, timeout=600,
                          check=False)
    assert done.returncode == 0, done.stdout + done.stderr
