"""Findings while the job runs: in the run file, and on the progress line."""

import json
import sqlite3
import subprocess

from gated import RULE, TRAIN
from program import clean_environment

# Goes on until its standard input ends.
ENDLESS = TRAIN.replace("train()\n",
                        "import select, sys\nwhile not select.select([sys.stdin], [], [], 0)[0]:\n    train(1)\n")


def test_a_finding_is_told_and_kept_before_the_job_ends(castscope, python):
    (castscope.folder / "train.py").write_text(ENDLESS)
    command = [castscope.program, "run", "--progress", "-o", "run", "--", python, "train.py"]
    with subprocess.Popen(command, cwd=castscope.folder, env=clean_environment(), stdin=subprocess.PIPE,
                          stderr=subprocess.PIPE) as job:
        told = b""
        while b"castscope: found: " not in told:
            read = job.stderr.read1()
            assert read, told
            told += read
        database = sqlite3.connect(castscope.folder / "run.castscope")  # open beyond the end of the job
        live = database.execute("SELECT rule, file, line FROM v_findings").fetchall()
        job.communicate(timeout=300)
        database.close()
    assert f"castscope: found: performance {RULE} train.py:".encode() in told
    final = [(f["rule"], f["location"]["file"], f["location"]["line"]) for f in castscope.report()["findings"]]
    assert live == final and [rule for rule, *_ in final] == [RULE]


def test_what_settings_silence_is_not_told_either(castscope, python):
    (castscope.folder / "castscope.json").write_text(json.dumps({"ignore": [RULE]}))
    (castscope.folder / "train.py").write_text(TRAIN)
    done = castscope("run", "--progress", "-o", "run", "--", python, "train.py")
    assert b"found:" not in done.stderr and castscope.report()["findings"] == []
