"""A run file in which something was changed after it was written: each command that reads it says so."""

import contextlib
import json
import lzma
import pathlib
import sqlite3

import pytest
from program import ROOT
from viewer_page import make_sample

FORMAT_19 = ROOT / "tests" / "golden" / "run_file" / "format_19.castscope.xz"  # as castscope wrote it


@pytest.fixture
def run(castscope):
    return castscope.folder / make_sample("training", castscope.folder)


@pytest.fixture
def older_run(castscope):
    path = castscope.folder / "older.castscope"
    path.write_bytes(lzma.decompress(FORMAT_19.read_bytes()))
    return path


def change(run, sql):
    with contextlib.closing(sqlite3.connect(run)) as database:
        assert database.execute(sql).rowcount > 0
        database.commit()


def reported(castscope, run):
    """The report's exit status, and what it says of the run."""
    done = castscope("report", run)
    return done.returncode, json.loads(done.stdout)["run"]


def assert_told(castscope, view, run, damage):
    """That report, check and viewer tell the damage, and that nothing passes for whole."""
    status, told = reported(castscope, run)
    assert (status, told["complete"]) == (3, False) and damage in told["damage"]
    checked = castscope("check", run)
    assert checked.returncode == 3 and damage.split()[0] in checked.stdout.decode() + checked.stderr.decode()
    viewer = view(run)
    assert damage in viewer.loaded(pathlib.Path(run).stem)["damage"]


def test_a_counter_that_is_another_one_is_told(castscope, run, view):
    change(run, "UPDATE counters SET casts = 1 WHERE casts = (SELECT max(casts) FROM counters)")
    assert_told(castscope, view, run, "its checksum is not that of its contents")


def test_a_file_whose_checksums_were_taken_away_is_told(castscope, run, view):
    change(run, "UPDATE counters SET casts = 1 WHERE casts = (SELECT max(casts) FROM counters)")
    change(run, "DELETE FROM run WHERE key LIKE 'checksum%'")
    assert_told(castscope, view, run, "it was finished, and the checksum that it was given then is gone")


def test_events_that_were_taken_away_are_told_and_no_count_is_doubted(castscope, run, view):
    change(run, "DELETE FROM event_blocks WHERE id = (SELECT max(id) FROM event_blocks)")
    assert_told(castscope, view, run, "its events are not those that it had")
    assert "what was counted is all there" in reported(castscope, run)[1]["damage"]


def test_a_file_that_was_never_finished_is_not_called_damaged(castscope, run):
    change(run, "DELETE FROM run WHERE key LIKE 'checksum%' OR key LIKE 'end%' OR key = 'exit_code'")
    status, told = reported(castscope, run)
    assert (status, told["damage"]) == (0, None)
    assert [one["incomplete_reason"] for one in told["missing"]] == ["run_not_ended"]


def test_a_file_of_format_19_is_checked_as_it_was_and_said_to_be_weakly_checked(castscope, run, older_run):
    status, told = reported(castscope, older_run)
    assert (status, told["damage"], told["weakly_checked"], told["complete"]) == (0, None, True, True)
    assert any("only weakly checked" in notice for notice in told["notices"])
    assert b"only weakly checked" in castscope("report", "--summary", older_run).stderr
    assert reported(castscope, run)[1]["weakly_checked"] is False
    change(older_run, "UPDATE counters SET casts = 1 WHERE casts = (SELECT max(casts) FROM counters)")
    status, told = reported(castscope, older_run)
    assert status == 3 and "its checksum is not that of its contents" in told["damage"]
