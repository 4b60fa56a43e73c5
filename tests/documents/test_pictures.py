"""The pictures of README.md show what their job's run prints today, as far as that does not depend on times."""

import os
import pty
import re

import pictures
import pytest
import runs
from blocks import ROOT

ANEW = "make them anew with scripts/pictures, and look at them"
README = (ROOT / "README.md").read_text()
LARGEST = 150_000


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The folder of a run of the job, and what it printed."""
    try:
        for end in pty.openpty():
            os.close(end)
    except OSError as error:
        pytest.skip(f"no pseudo-terminals here: {error}")
    folder = tmp_path_factory.mktemp("pictures")
    return folder, pictures.record(folder, runs.CASTSCOPE)


def test_the_readme_shows_them_on_its_first_screens():
    shown = re.findall(r'(?:src|srcset)="(docs/pictures/[^"]+)"', "\n".join(README.splitlines()[:80]))
    made = [path for path in pictures.PICTURES.iterdir() if path != pictures.JOB]
    assert sorted(ROOT / name for name in set(shown)) == sorted(made)
    assert max(path.stat().st_size for path in made) < LARGEST


@pytest.mark.parametrize("scheme", pictures.SCHEMES)
def test_the_summary_is_that_of_the_job(recorded, scheme):
    shown = pictures.text_of((pictures.PICTURES / f"summary-{scheme}.svg").read_text())
    assert pictures.without_times(shown) == pictures.without_times(recorded[1]), ANEW


@pytest.mark.parametrize("scheme", pictures.SCHEMES)
def test_the_page_is_that_of_the_job(recorded, scheme):
    pictures.page_of(recorded[0], runs.CASTSCOPE)
    shown = pictures.description_in((pictures.PICTURES / f"page-{scheme}.png").read_bytes())
    assert shown == pictures.description_of(recorded[0]), ANEW


def test_a_picture_holds_the_text_and_its_colours():
    svg = pictures.svg_of("\x1b[1ma <b>\x1b[0m  c\n\x1b[33md\x1b[0m\n", "dark")
    assert pictures.text_of(svg) == "a <b>  c\nd\n"
    assert 'font-weight="bold">a &lt;b&gt;<' in svg and f'fill="{pictures.COLOURS["dark"]["33"]}">d<' in svg


def test_times_and_the_costliest_casts_may_differ_and_words_may_not():
    printed = "takes 3.5 % of it\ncostliest casts, by x\n  a.py:3\n\n    saves: 2 ms, <1 % of it\nin 1,912.5 µs, all\n"
    assert pictures.without_times(printed) == "takes 0 of it in 0, all"
    assert pictures.without_times(printed) == pictures.without_times(printed.replace("1,912.5 µs", "2 ms"))
    assert pictures.without_times(printed) != pictures.without_times(printed.replace("takes", "saves"))


def test_a_description_is_read_back():
    png = b"\x89PNG\r\n\x1a\n" + pictures.chunk(b"IHDR", bytes(13)) + pictures.chunk(b"IEND", b"")
    assert pictures.description_in(pictures.described(png, "style x\na rule")) == "style x\na rule"
