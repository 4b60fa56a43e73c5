"""The commands that make reports: their inputs, their outputs, their messages."""

import subprocess
import sys

import pytest
from program import Castscope
from report_job import FORMS, get, record


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return record(Castscope(tmp_path_factory.mktemp("trained")), sys.executable)


@pytest.mark.parametrize("form", FORMS)
def test_outputs_that_cannot_be_written(castscope, trained, form):
    run = trained.folder / "run.castscope"
    for output in ("no/such/folder/out", "/dev/full", "/proc/out"):
        done = castscope("report", "-f", form, "-o", output, run)
        assert done.returncode == 2 and done.stderr.count(b"\n") == 1 and b"cannot be written" in done.stderr, output
    with open("/dev/full", "wb") as full:
        done = castscope("report", "-f", form, run, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2 and b"standard output cannot be written" in done.stderr


def test_there_is_no_other_format(castscope):
    done = castscope("report", "-f", "pdf", "run.castscope")
    assert done.returncode == 2 and done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-journal"])
def test_a_link_beside_a_run_file_is_not_followed(castscope, trained, suffix):
    (castscope.folder / "run.castscope").write_bytes((trained.folder / "run.castscope").read_bytes())
    (castscope.folder / "precious").write_text("somebody's")
    (castscope.folder / f"run.castscope{suffix}").symlink_to("precious")
    done = castscope("report", "--summary", "run.castscope", text=True)
    assert done.returncode == 3 and done.stderr.count("\n") == 1, done.stderr
    assert f"run.castscope{suffix} is a link, and is not followed" in done.stderr
    assert (castscope.folder / "precious").read_text() == "somebody's"


@pytest.mark.parametrize("command", [("report",), ("report", "-f", "html"), ("convert",)])
def test_an_output_destroys_nothing_beside_it(castscope, trained, command):
    (castscope.folder / "out.new").write_text("somebody's")
    (castscope.folder / "precious").write_text("somebody's too")
    (castscope.folder / "linked.new").symlink_to("precious")
    run = trained.folder / "run.castscope"
    for output in ("out", "linked"):
        done = castscope(*command, "-o", output, run)
        assert done.returncode == 0 and (castscope.folder / output).stat().st_size > 0, done.stderr
    assert (castscope.folder / "out.new").read_text() + (castscope.folder / "precious").read_text() == \
        "somebody'ssomebody's too"
    assert {path.name for path in castscope.folder.iterdir()} == {"out", "out.new", "linked", "linked.new", "precious"}


def test_the_summary_names_files_that_are_there(castscope, trained):
    whole = (trained.folder / "run.castscope").read_bytes()
    (castscope.folder / "run.sqlite").write_bytes(whole)
    done = castscope("report", "--summary", "run.sqlite")
    assert done.returncode == 0 and b"run file: run.sqlite\n" in done.stderr and b"report:" not in done.stderr
    (castscope.folder / "run.json").write_text("{}")
    assert b"report:   run.json\n" in castscope("report", "--summary", "run.sqlite").stderr


@pytest.mark.parametrize("other", [("-f", "html"), ("-o", "out"), ("-f", "html", "-o", "out")])
def test_the_summary_has_no_other_form(castscope, trained, other):
    done = castscope("report", "--summary", *other, trained.folder / "run.castscope")
    assert done.returncode == 2 and done.stderr.count(b"\n") == 1 and b"--summary" in done.stderr
    assert list(castscope.folder.iterdir()) == []


def test_two_dashes_end_the_options(castscope, trained):
    (castscope.folder / "-run").write_bytes((trained.folder / "run.castscope").read_bytes())
    assert castscope("report", "-f", "md", "--", "-run").stdout == get(trained, "md")
    assert castscope("check", "--allow-incomplete", "--", "-run").returncode in (0, 1)


def test_messages_hold_no_controls(castscope):
    done = castscope("report", "a\x1b[31m\nred.castscope")
    assert done.returncode == 3 and done.stderr.count(b"\n") == 1 and b"\x1b" not in done.stderr
    assert b"a\\x1b[31m\\nred.castscope" in done.stderr
