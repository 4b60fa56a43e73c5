"""Pseudo-terminals, for programs that ask whether they write to a terminal."""

import pty

import pytest


def open_terminal():
    """Returns our end and that of the program. The test is skipped on a machine that has none."""
    try:
        return pty.openpty()
    except OSError as error:
        pytest.skip(f"no pseudo-terminals here: {error}")
