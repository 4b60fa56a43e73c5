import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
pytest.register_assert_rewrite("launched", "counted")
from launched import Workshop  # noqa: E402


@pytest.fixture(scope="session")
def workshop(tmp_path_factory):
    return Workshop(tmp_path_factory.mktemp("launchers"))
