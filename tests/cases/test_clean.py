"""Nothing is found in jobs without a fault, except what clean_list.py lists as right."""

import clean_list
import pytest


@pytest.mark.parametrize("name", clean_list.JOBS)
def test_nothing_is_found_in_it(name, tmp_path):
    if not clean_list.can_run(name):
        pytest.skip("this CPU has no LSTM in bfloat16")
    assert not clean_list.wrong(name, clean_list.found(name, tmp_path / "run"))
