"""Autocast regions, read from the source."""

import textwrap

import pytest
from castscope.modes.regions import innermost
from castscope.modes.units import Line


@pytest.fixture
def stack(tmp_path):
    def written(source, *lines):
        file = tmp_path / "net.py"
        file.write_text(textwrap.dedent(source))
        return tuple(Line(str(file), line, "f") for line in lines)
    return written


@pytest.mark.parametrize("call, enabled", [
    ('torch.autocast("cpu")', True),
    ('torch.autocast("cpu", enabled=False)', False),
    ('autocast("cuda", torch.float16, False)', False),
    ("torch.cuda.amp.autocast(False)", False),
    ("torch.cuda.amp.autocast()", True),
    ('torch.autocast("cpu", enabled=use)', None),
])
def test_whether_it_is_on(stack, call, enabled):
    region = innermost(stack(f"with {call}:\n    y = x\n", 2))
    assert (region.enabled, region.line) == (enabled, 1)


NESTED = """\
    with torch.autocast("cpu"):
        a = 1
        with open("f") as f, autocast("cpu", enabled=False):
            b = 2
        c = 3
    d = 4
"""


@pytest.mark.parametrize("line, region", [(2, 1), (4, 3), (5, 1), (6, None)])
def test_the_innermost_around_a_line(stack, line, region):
    found = innermost(stack(NESTED, line))
    assert (found and found.line) == region


def test_of_no_region_around_the_line_that_of_its_caller(stack):
    source = "def f():\n    return 1\nwith autocast('cpu'):\n    f()\n"
    assert innermost(stack(source, 2, 4)).line == 3


def test_a_decorator(stack):
    found = innermost(stack("@torch.autocast('cpu', enabled=False)\ndef f(x):\n    return x\n", 3))
    assert (found.line, found.enabled) == (1, False)


def test_source_that_cannot_be_read(stack):
    assert innermost((Line("/nowhere.py", 3, "f"),)) is None
    assert innermost(stack("with (:\n", 1)) is None
