"""How far outputs are apart, compared with values worked out by hand."""

import math

import pytest
import torch
from castscope import compare
from castscope.modes.recording import Recording
from castscope.modes.values import compare_outputs, same_values


def recording(**outputs):
    return Recording("eager", outputs={name: torch.as_tensor(value) for name, value in outputs.items()})


def only(left, right, **bounds):
    (found,), notes = compare_outputs(recording(y=left), recording(y=right), **bounds)
    assert not notes
    return found


def test_errors_are_the_greatest_of_any_element():
    found = only([1.0, 4.0], [1.5, 3.0])
    assert (found.max_abs, found.max_rel, found.close) == (1.0, 0.5, False)


def test_equal_is_close():
    found = only([1.0, -2.0], [1.0, -2.0])
    assert (found.max_abs, found.max_rel, found.close) == (0.0, 0.0, True)


def test_the_less_precise_dtype_gives_the_tolerance():
    bfloat16 = torch.tensor([1.0], dtype=torch.bfloat16)
    assert only(torch.tensor([1.01]), bfloat16).close
    assert not only(torch.tensor([1.01]), torch.tensor([1.0])).close
    assert not only(torch.tensor([1.01]), bfloat16).same_dtype


def test_tolerances_may_be_given():
    assert only([1.0], [1.4], rtol=0.5, atol=0.0).close
    assert not only([1.0], [1.0001], rtol=0.0, atol=0.0).close


def test_nan_and_infinity_in_both_are_equal():
    found = only([math.nan, math.inf, 1.0], [math.nan, math.inf, 1.0])
    assert (found.not_finite, found.close, found.max_abs) == (0, True, 0.0)


@pytest.mark.parametrize("value", [math.nan, -math.inf, 1.0])
def test_infinity_on_one_side_is_counted(value):
    found = only([math.inf, 1.0], [value, 1.0])
    assert (found.not_finite, found.close, found.max_abs) == (1, False, 0.0)


def test_integers_are_counted():
    found = only([1, 2, 3], [1, 5, 3])
    assert (found.close, found.problem) == (False, "1 of 3 elements differ")


def test_another_shape_is_said():
    assert only([1.0], [1.0, 2.0]).problem == "shape [2], in eager [1]"


def test_another_structure_is_said_and_compared_in_order():
    found, notes = compare_outputs(recording(a=[1.0], b=[2.0]), recording(x=[1.0], y=[2.0]))
    assert [error.close for error in found] == [True, True]
    assert "another structure" in notes[0] and "x, y; eager has a, b" in notes[0]


def test_another_number_of_tensors_is_said():
    found, notes = compare_outputs(recording(a=[1.0], b=[2.0]), recording(b=[2.0]))
    assert [error.name for error in found] == ["b"]
    assert "another structure: b; eager has a, b" in notes[0]


def test_values_that_are_no_tensors_are_compared():
    left, right = Recording("eager", values={"[1]": 3}), Recording("trace", values={"[1]": 4})
    assert compare_outputs(left, right) == ([], ["[1] is 4, in eager 3"])


@pytest.mark.parametrize("make", [
    lambda: torch.eye(3).to_sparse(), lambda: torch.eye(4).to_sparse_csr(), lambda: torch.tensor([1.0, float("nan")]),
    lambda: torch.nested.nested_tensor([torch.ones(2), torch.zeros(3)], layout=torch.jagged),
    lambda: torch.nested.nested_tensor([torch.ones(2), torch.zeros(3)]), lambda: torch.ones(2, device="meta")])
def test_values_of_any_layout_are_looked_at(make):
    assert same_values(make(), make().clone())
    if make().device.type != "meta":
        assert not same_values(make(), make() * 2)


def test_a_nested_tensor_of_more_parts_is_another():
    one, two = ([torch.ones(2)], [torch.ones(2), torch.ones(2)])
    assert not same_values(torch.nested.nested_tensor(one), torch.nested.nested_tensor(two))


def test_results_without_plain_values():
    def of(function, inputs):
        return compare(function, inputs, modes=("trace",)).outputs["trace"][0]
    product = of(lambda a, b: torch.sparse.mm(a, b).to_sparse(), (torch.eye(3).to_sparse(), torch.ones(3, 3)))
    assert product.close and not product.problem
    meta = of(lambda x: x @ x, (torch.ones(3, 3, device="meta"),))
    assert meta.close and meta.problem == "on the meta device, without values"
