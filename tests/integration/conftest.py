import pathlib
import subprocess
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


@pytest.fixture
def python_without_us(tmp_path):
    """One in which nobody has installed the castscope package, nor anything else."""
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", tmp_path / "alone"], check=True)
    return str(tmp_path / "alone" / "bin" / "python")
