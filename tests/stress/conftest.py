import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
for folder in (HERE, HERE.parent):
    sys.path.insert(0, str(folder))


def pytest_addoption(parser):
    parser.addoption("--kills", type=int, default=8, help="how many jobs test_kill.py kills (scripts/stress: 50)")


def pytest_generate_tests(metafunc):
    if "kill_number" in metafunc.fixturenames:
        metafunc.parametrize("kill_number", range(metafunc.config.getoption("--kills", default=8)))


@pytest.fixture(scope="session")
def iteration(tmp_path_factory):
    """The outcomes of one iteration of known_loop.py in order, as the oracle saw them: "ccchhc…"."""
    import known_loop
    import runs
    folder = tmp_path_factory.mktemp("pattern")
    known_loop.create(folder / "progress")
    outcome = runs.under_oracle([sys.executable, str(HERE / "known_loop.py"), str(folder / "progress"), "3"],
                                folder / "oracle")
    letters = outcome.counts.outcomes
    one = letters[:len(letters) // 3]
    assert outcome.status == 0 and letters == one * 3 and {"c", "h", "p"} == set(one)
    return one
