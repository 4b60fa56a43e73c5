"""The short form of scripts/faults."""

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def test_twenty_faults_lose_nothing_and_disturb_no_job():
    done = subprocess.run([str(ROOT / "scripts" / "faults"), "--again", "--many", "20"], capture_output=True, text=True,
                          timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
