"""Functions that are registered in place, in code that one cannot edit."""

import copy
import types

import castscope
import pytest
from casting_verbs import FLOAT, LOW, ones, region
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x):
        return self.linear(x)


def backend():
    module = types.ModuleType("backend")
    module.FRUBackend = lambda *args: [arg.dtype for arg in args]
    module.Blend = type("Blend", (), {"mix": lambda self, *args: [arg.dtype for arg in args],
                                      "static": staticmethod(lambda *args: [arg.dtype for arg in args])})
    return module


def test_explicit_registration_of_half_float_and_promote_functions():
    module = backend()
    with region():
        castscope.register_half_function(module, "FRUBackend")
        assert module.FRUBackend(ones(), ones(LOW)) == [LOW, LOW]
        castscope.register_float_function(module, "FRUBackend")
        assert module.FRUBackend(ones(), ones(LOW)) == [FLOAT, FLOAT], "the last one counts"
        castscope.register_promote_function(module, "FRUBackend")
        assert module.FRUBackend(ones(LOW), ones(LOW)) == [LOW, LOW]


def test_registering_twice_is_registering_once():
    module = backend()
    castscope.register_half_function(module, "FRUBackend")
    once = module.FRUBackend
    castscope.register_half_function(module, "FRUBackend")
    assert module.FRUBackend is once


def test_methods_and_classes_are_registered():
    module = backend()
    castscope.register_half_function(module.Blend, "mix")
    castscope.register_float_function(module.Blend, "static")
    module.Net = type("Net", (Net,), {})
    castscope.register_float_function(module, "Net")
    with region():
        assert module.Blend().mix(ones()) == [LOW] and module.Blend.static(ones(LOW)) == [FLOAT]
        assert module.Net()(ones(LOW)).dtype is FLOAT


def test_a_method_of_one_object_is_registered():
    model, other = Net(), Net()
    castscope.register_float_function(model, "forward")
    with region():
        assert model(ones(LOW)).dtype is FLOAT and other(ones(LOW)).dtype is LOW
        assert copy.deepcopy(model)(ones(LOW)).dtype is FLOAT


def test_a_name_that_is_not_there_is_refused_with_the_nearest():
    module = backend()
    with pytest.raises(AttributeError, match="backend has no 'FRUBakend'; did you mean 'FRUBackend'"):
        castscope.register_half_function(module, "FRUBakend")
    with pytest.raises(AttributeError, match="Blend has no 'mixx'; did you mean 'mix'"):
        castscope.register_half_function(module.Blend, "mixx")


def test_what_python_does_not_let_one_replace_is_refused():
    with pytest.raises(TypeError, match="float.hex cannot be replaced"):
        castscope.register_half_function(float, "hex")
