import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import pytest


@pytest.fixture(scope="session")
def generated_code(tmp_path_factory):
    """Where jobs whose caches of graphs are off let Inductor build its code: what is the same is built once for all."""
    return tmp_path_factory.mktemp("generated-code")
