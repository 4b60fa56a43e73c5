"""The acceptance run (tests/matrix/acceptance.py) in an emulated Python, where all takes twenty times as long."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "matrix")]
import acceptance  # noqa: E402
import runs  # noqa: E402

runs.LIMIT_S = 3600
acceptance.main()
