"""Nothing is found in jobs without a fault, except what clean_list.py lists as right."""

import clean_list
import pytest


@pytest.mark.parametrize("name", clean_list.JOBS)
def test_nothing_is_found_in_it(name, tmp_path):
    assert not clean_list.wrong(name, clean_list.found(name, tmp_path / "run"))


def test_nothing_is_found_in_those_that_share_a_run(tmp_path):
    told = clean_list.found_in_sharing(tmp_path / "run")
    assert not {name: wrong for name in told if (wrong := clean_list.wrong(name, told[name]))}
    assert told["backward_inside"]
