"""Annotated functions: what is cast, to what, and what autocast does in the body."""

import threading

import pytest
import torch
from casting_verbs import DOUBLE, FLOAT, HALF, LOW, autocast_on, of, region
from castscope import float_function, half_function, promote_function


@half_function
def half(*args):
    return [arg.dtype for arg in args]


@float_function
def full(*args):
    return [arg.dtype for arg in args]


@promote_function
def widest(*args):
    return [arg.dtype for arg in args]


# ---- the statements of apex-amp.md about annotations

def test_half_function_casts_all_arguments():
    with region():
        assert half(*of(FLOAT, HALF, LOW)) == [LOW] * 3
    with region(HALF):
        assert half(*of(FLOAT, HALF, LOW)) == [HALF] * 3


def test_float_function_casts_all_arguments():
    with region():
        assert full(*of(FLOAT, HALF, LOW)) == [FLOAT] * 3


@pytest.mark.parametrize("given, got", [((LOW, FLOAT), FLOAT), ((HALF, FLOAT), FLOAT), ((LOW, HALF), FLOAT),
                                        ((LOW, LOW), LOW), ((HALF, HALF), HALF)])
def test_promote_function_casts_mismatches_to_the_widest_type(given, got):
    with region():
        assert widest(*of(*given)) == [got, got]


def test_keyword_arguments_are_cast():
    @half_function
    def fru(input, hidden, *, weight, bias=None):
        return input.dtype, hidden.dtype, weight.dtype, bias

    x, = of(FLOAT)
    with region():
        assert fru(x, hidden=x, weight=x) == (LOW, LOW, LOW, None)


@pytest.mark.parametrize("function", [half, full, widest])
def test_outside_autocast_nothing_is_cast(function):
    given = of(FLOAT, HALF, LOW)
    assert function(*given) == [FLOAT, HALF, LOW]
    with region(enabled=False):
        assert function(*given) == [FLOAT, HALF, LOW]


@pytest.mark.parametrize("function", [half, full])
def test_float64_integers_and_complex_numbers_are_never_cast(function):
    given = [torch.ones(2, dtype=DOUBLE), torch.ones(2, dtype=torch.int64), torch.ones(2, dtype=torch.complex64)]
    with region():
        assert function(*given) == [DOUBLE, torch.int64, torch.complex64]


def test_float64_has_no_say_in_the_widest_type():
    with region():
        assert widest(*of(DOUBLE, LOW, LOW)) == [DOUBLE, LOW, LOW]
        assert widest(*of(DOUBLE, LOW, FLOAT)) == [DOUBLE, FLOAT, FLOAT]


def test_eight_bit_floats_are_left_alone():
    packed = torch.ones(2).to(torch.float8_e4m3fn)
    with region():
        assert half(packed) == [packed.dtype] and widest(packed, *of(FLOAT)) == [packed.dtype, FLOAT]


def test_only_the_device_whose_autocast_is_on():
    with region():
        elsewhere = torch.ones(2, device="meta")
        assert half(elsewhere) == [FLOAT] and widest(elsewhere, *of(LOW, LOW)) == [FLOAT, LOW, LOW]


def test_gradients_flow_through_the_casts():
    x = torch.tensor([1.0, 2.0], requires_grad=True)

    @half_function
    def square(x):
        return x * x

    with region():
        y = square(x)
    y.sum().backward()
    assert y.dtype is LOW and x.grad.dtype is FLOAT and x.grad.tolist() == [2.0, 4.0]


# ---- the body

def test_in_a_float_function_nothing_is_cast_down():
    weight = torch.ones(2, 2)

    @float_function
    def body(x):
        return torch.mm(x, weight).dtype, autocast_on()

    with region():
        assert body(torch.ones(2, 2, dtype=LOW)) == (FLOAT, False)
        assert autocast_on()


@pytest.mark.parametrize("annotation", [half_function, promote_function])
def test_in_a_half_or_promote_function_autocast_goes_on(annotation):
    """As in apex: tensors that the body itself holds, a module's weights, are cast where an operator needs it."""
    weight = torch.ones(2, 2)

    @annotation
    def body(x):
        return torch.mm(x, weight).dtype

    with region():
        assert body(torch.ones(2, 2, dtype=LOW)) is LOW


def test_annotation_at_function_level_nested():
    @half_function
    def inner(x):
        return x.dtype, torch.mm(x, torch.ones(2, 2)).dtype

    @float_function
    def outer(x):
        return x.dtype, inner(x), torch.mm(x, x).dtype, widest(x, *of(LOW))

    x = torch.ones(2, 2, dtype=LOW)
    with region():
        assert outer(x) == (FLOAT, (LOW, LOW), FLOAT, [FLOAT, FLOAT])
        assert half_function(lambda x: (x.dtype, outer(x)[0], x.dtype))(x) == (LOW, FLOAT, LOW)


def test_a_region_in_the_body_counts_for_what_is_called_from_there():
    @float_function
    def off(x):
        with region(enabled=False):
            return half(x)

    @float_function
    def on(x):
        with region(HALF):
            return half(x)

    with region():
        assert off(*of(FLOAT)) == [FLOAT] and on(*of(FLOAT)) == [HALF]


def test_an_exception_leaves_autocast_as_it_was():
    @float_function
    def fails(x):
        half(x)
        raise KeyError("mine")

    with region():
        with pytest.raises(KeyError, match="mine"):
            fails(*of(LOW))
        assert autocast_on() and half(*of(FLOAT)) == [LOW]
    assert not autocast_on() and half(*of(FLOAT)) == [FLOAT]


def test_the_cache_of_the_region_around_survives():
    weight = torch.nn.Parameter(torch.ones(2, 2))
    with region():
        before = torch.mm(weight, weight).grad_fn.next_functions[0][0]
        full(*of(LOW))
        after = torch.mm(weight, weight).grad_fn.next_functions[0][0]
    assert before is after, "the weight was cast once"


def test_without_autocast_the_cache_of_another_thread_survives():
    @float_function
    def pieces(x):
        yield x

    weight = torch.nn.Parameter(torch.ones(2, 2))
    with region():
        before = torch.mm(weight, weight).grad_fn.next_functions[0][0]
        thread = threading.Thread(target=lambda: [list(pieces(x)) for x in of(LOW)])
        thread.start()
        thread.join()
        assert torch.mm(weight, weight).grad_fn.next_functions[0][0] is before


def test_each_thread_has_its_own_state():
    entered, go = threading.Event(), threading.Event()
    seen = []

    @float_function
    def waits(x):
        entered.set()
        go.wait()

    def run():
        with region():
            waits(*of(LOW))

    thread = threading.Thread(target=run)
    thread.start()
    entered.wait()
    seen.append(half(*of(FLOAT)))
    with region():
        seen += [half(*of(FLOAT)), autocast_on()]
    go.set()
    thread.join()
    assert seen == [[FLOAT], [LOW], True]
