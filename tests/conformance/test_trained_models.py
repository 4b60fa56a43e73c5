"""Models trained under the enforced default policy end as those trained without castscope, bit by bit.

With CONFORMANCE=whole in the environment (scripts/conformance) each model is trained in all ways, else in one.
"""

import pathlib
import sys

import enforcement
import length
import pytest
import runs

TRAINED = pathlib.Path(__file__).with_name("trained_models.py")


def train(output):
    return [sys.executable, str(TRAINED), "all" if length.WHOLE else "some", str(output)]


@pytest.fixture(scope="module")
def stock(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stock")
    return enforcement.written(runs.plain(train(folder / "trained.json"), folder / "run"), folder / "trained.json")


@pytest.mark.parametrize("way", enforcement.WAYS)
def test_models_end_with_the_same_bits(way, stock, tmp_path):
    outcome = enforcement.under_enforcement(train(tmp_path / "trained.json"), tmp_path / "run",
                                            enforcement.DEFAULT["cpu"], *enforcement.WAYS[way])
    trained = enforcement.written(outcome, tmp_path / "trained.json")
    assert trained.keys() == stock.keys()
    assert not [name for name in stock if trained[name] != stock[name]]


def test_one_other_weight_is_seen_in_all_of_them(stock, tmp_path, monkeypatch):
    monkeypatch.setenv("ONE_OTHER_WEIGHT", "1")
    outcome = runs.plain(train(tmp_path / "trained.json"), tmp_path / "run")
    trained = enforcement.written(outcome, tmp_path / "trained.json")
    assert trained.keys() == stock.keys()
    assert not [name for name in stock if trained[name] == stock[name]]


def test_precision_matters_to_all_of_them(stock):
    for name in stock:
        if name.endswith("bf16"):
            assert stock[name] != stock[name.removesuffix("bf16") + "fp16"], name
