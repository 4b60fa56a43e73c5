"""The names that a report gives to annotated things and their arguments: castscope is told at each cast."""

import types

import pytest
import torch
from casting_verbs import ones, region
from castscope import half_function, register_half_function, telling
from torch import nn


@pytest.fixture
def told(monkeypatch):
    """(function, argument, position) of each cast, in turn."""
    seen = []
    monkeypatch.setattr(telling, "_begins", lambda function, argument, position, *more:
                        seen.append((function.decode(), argument.decode(), position)))
    monkeypatch.setattr(telling, "_ends", lambda: None)
    return seen


def plain_wrapper(function):
    """A decorator that forgets the function that it decorates."""
    def wrapper(self, x):
        return function(self, x)

    return wrapper


class Base(nn.Module):
    def forward(self, x):
        return x


def of_elsewhere(self, x):
    return x


def derived():
    class Derived(Base):
        pass

    return Derived


def decorated():
    class Decorated(nn.Module):
        @plain_wrapper
        def forward(self, x):
            return x

    return Decorated


def of_a_lambda():
    class OfALambda(nn.Module):
        forward = lambda self, x: x  # noqa: E731

    return OfALambda


def replaced():
    class Replaced(nn.Module):
        forward = of_elsewhere

    return Replaced


def called():
    class Called:
        def __call__(self, x):
            return x

    return Called


@pytest.mark.parametrize(("make", "name"), [
    (derived, "Derived.forward"), (decorated, "Decorated.forward"), (of_a_lambda, "OfALambda.forward"),
    (replaced, "Replaced.forward"), (called, "Called.__call__")])
@pytest.mark.parametrize("single", [False, True], ids=["class", "object"])
def test_a_class_has_its_own_name(told, make, name, single):
    cls = make()
    target = half_function(cls()) if single else half_function(cls)()
    with region():
        target(ones())
    assert told == [(name, "x", 1)]


def test_annotated_twice_it_is_still_its_own(told):
    class Block(Base):
        @half_function
        def forward(self, x):
            return x

    half_function(Block)
    half_function(Block)
    with region():
        Block()(ones())
    assert {name for name, *_ in told} == {"Block.forward"}


def test_a_method_that_stands_in_the_object(told):
    module = Base()
    module.forward = lambda x: x
    with region():
        half_function(module)(ones())
    assert told == [("Base.forward", "x", 0)]


def test_what_is_registered_is_called_by_the_name_that_it_has_there(told):
    backend = types.ModuleType("backend")
    backend.fru = lambda x: x
    register_half_function(backend, "fru")
    with region():
        backend.fru(ones())
    assert told == [("fru", "x", 0)]


def test_all_that_a_rest_takes_is_one_argument(told):
    @half_function
    def takes(first, *others, **named):
        return first

    with region():
        takes(ones(), ones(), [ones(), (ones(),)], key=ones())
    assert told == [("takes", "first", 0), *[("takes", "others", 1)] * 3, ("takes", "key", 0xffffffff)]


def test_a_function_of_a_function(told):
    def attend(q):
        return q

    with region():
        half_function(attend)(torch.ones(2))
    assert told == [("attend", "q", 0)]
