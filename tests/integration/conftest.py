import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from program import Castscope  # noqa: E402


@pytest.fixture
def castscope(tmp_path):
    return Castscope(tmp_path)


@pytest.fixture
def python():
    return sys.executable
