"""docs/compatibility.md is what the kept runs say."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "matrix"))
import compatibility


def test_the_page_is_written_from_the_kept_runs():
    assert compatibility.DOCUMENT.read_text() == compatibility.document()


def test_every_minor_version_has_a_row():
    minors = {tuple(compatibility.numbers(row["torch"])[:2]) for row in compatibility.rows()}
    assert minors >= {(2, minor) for minor in range(4, 16)}
