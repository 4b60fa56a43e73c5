"""Annotated classes and objects."""

import copy
import functools
import io
import pickle

import pytest
import torch
from casting_verbs import FLOAT, LOW, ones, region
from castscope import float_function, force_fp32, half_function, never_cast
from torch import nn


class Net(nn.Module):
    """At the top of this file, for pickle."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x):
        return self.linear(x)


class Callable:
    def __init__(self, note):
        self.note = note

    def __call__(self, x):
        return self.note, x.dtype


def fresh(base=Net):
    """A class of its own for each test, since a class is annotated in place."""
    return type(base.__name__, (base,), {})


# ---- classes

def test_a_class_of_modules_is_annotated_in_place():
    cls = fresh()
    assert force_fp32(cls) is cls and cls.__name__ == "Net"
    with region():
        assert cls()(ones(LOW)).dtype is FLOAT


def test_forced_fp32_wrapper_of_an_external_module_class():
    """The forum's question: a subclass, of a class that cannot be edited, that works in float32 whatever comes."""
    @force_fp32
    class Mine(Net):
        pass

    with region():
        assert Mine()(ones(LOW)).dtype is FLOAT and Net()(ones(LOW)).dtype is LOW, "the imported one stays as it is"


def test_half_function_on_a_module_casts_its_weights_too():
    with region():
        assert half_function(fresh())()(ones()).dtype is LOW and half_function(Net())(ones()).dtype is LOW


def test_a_class_without_forward_is_annotated_in_call():
    cls = half_function(fresh(Callable))
    with region():
        assert cls("note")(ones()) == ("note", LOW)


def test_a_class_that_can_do_nothing_is_refused():
    with pytest.raises(TypeError, match="Empty has neither forward nor __call__"):
        half_function(type("Empty", (), {}))


def test_an_inherited_method_is_looked_up_as_super_would():
    class Left(Net):
        pass

    class Right(Net):
        def forward(self, x):
            return "right", x.dtype

    class Both(Left, Right):
        pass

    float_function(Left)
    with region():
        assert Both()(ones(LOW)) == ("right", FLOAT)


class Own(Net):
    def forward(self, x):
        return super().forward(x)


@pytest.mark.parametrize("of", [Net, Own])
def test_a_derived_class_over_its_base_class(of):
    base = half_function(type("Base", (of,), dict(vars(of)) if of is Own else {}))
    derived = float_function(fresh(base))
    with region():
        assert derived()(ones(LOW)).dtype is FLOAT and base()(ones()).dtype is LOW


def test_forward_that_calls_super_is_a_nested_call():
    base = half_function(fresh())

    @float_function
    class Derived(base):
        def forward(self, x):
            return x.dtype, super().forward(x).dtype, torch.is_autocast_enabled("cpu")

    with region():
        assert Derived()(ones(LOW)) == (FLOAT, LOW, False)


def test_annotation_at_function_class_and_object_level_nested():
    """The forum's question: what context managers do, at the levels at which code is written."""
    seen = {}

    @half_function
    def function(x):
        seen["function"] = x.dtype
        return x

    @float_function
    class OfClass(nn.Module):
        def forward(self, x):
            seen["class"] = x.dtype
            return function(x)

    class Plain(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            seen["object"] = x.dtype
            return self.inner(x)

    model = half_function(Plain(OfClass()))
    with region():
        assert model(ones()).dtype is LOW
    assert seen == {"object": LOW, "class": FLOAT, "function": LOW}
    model(ones())
    assert seen == {"object": FLOAT, "class": FLOAT, "function": FLOAT}


# ---- objects

def test_one_object_is_annotated_and_still_of_its_class():
    model = Net()
    assert force_fp32(model) is model and isinstance(model, Net)
    assert type(model).__name__ == "Net" and type(model).__module__ == __name__ and "Net(" in repr(model)
    assert list(model.state_dict()) == ["linear.weight", "linear.bias"]
    with region():
        assert model(ones(LOW)).dtype is FLOAT and Net()(ones(LOW)).dtype is LOW


def test_the_models_repr_shows_what_is_annotated():
    """The forum's wish: to see the annotation when one inspects the model in a debugger."""
    model = nn.Sequential(Net(), force_fp32(Net()), half_function(nn.Linear(2, 2)))
    assert repr(model).splitlines() == [
        "Sequential(",
        "  (0): Net(",
        "    (linear): Linear(in_features=2, out_features=2, bias=True)",
        "  )",
        "  (1): Net(",
        "    castscope.float_function",
        "    (linear): Linear(in_features=2, out_features=2, bias=True)",
        "  )",
        "  (2): Linear(in_features=2, out_features=2, bias=True, castscope.half_function)",
        ")"]
    for again in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert repr(again) == repr(model)


def test_a_repr_shows_the_annotation_that_counts():
    base = force_fp32(fresh())
    derived = half_function(never_cast("x")(fresh(base)))
    assert derived().extra_repr() == "castscope.half_function, castscope.never_cast('x')"
    assert base().extra_repr() == fresh(base)().extra_repr() == "castscope.float_function"
    assert float_function(derived()).extra_repr() == "castscope.float_function, castscope.never_cast('x')"

    class Told(base):
        def extra_repr(self):
            return "told; " + super().extra_repr()

    assert Told().extra_repr() == "told; castscope.float_function"
    assert half_function(Told)().extra_repr() == "told; , castscope.half_function"


def test_the_last_annotation_of_an_object_counts_over_its_class():
    model = half_function(float_function(fresh())())
    with region():
        assert model(ones()).dtype is LOW
        assert force_fp32(model)(ones(LOW)).dtype is FLOAT


def test_in_a_forced_module_the_modules_inside_work_in_float32():
    model = force_fp32(nn.Sequential(Net(), nn.Sequential(Net(), nn.ReLU())))
    with region():
        assert model(ones(LOW)).dtype is FLOAT


def test_an_annotated_module_inside_a_forced_one_decides_for_itself():
    model = force_fp32(nn.Sequential(Net(), half_function(Net())))
    with region():
        assert model(ones(LOW)).dtype is LOW


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_and_pickles_are_annotated_and_independent(copied):
    model = half_function(force_fp32(Net()))
    other = copied(force_fp32(model))
    other._modules = {"linear": nn.Linear(2, 3)}  # a new dict: copy.copy shares its contents
    with region():
        assert other(ones(LOW)).dtype is FLOAT and other(ones()).shape == (2, 3) and model(ones()).shape == (2, 2)
    assert type(other) is type(model)


def test_a_graph_module_is_pickled_annotated():
    model = force_fp32(torch.fx.symbolic_trace(Net()))
    with region():
        assert model(ones(LOW)).dtype is FLOAT
        assert pickle.loads(pickle.dumps(model))(ones(LOW)).dtype is FLOAT


def test_a_saved_module_is_loaded_annotated():
    file = io.BytesIO()
    torch.save(force_fp32(Net()), file)
    file.seek(0)
    with region():
        assert torch.load(file, weights_only=False)(ones(LOW)).dtype is FLOAT


def test_a_replica_runs_on_its_own_parameters():
    model = force_fp32(nn.Linear(2, 2))
    replica = model._replicate_for_data_parallel()
    replica._parameters = {"weight": ones(FLOAT, 3, 2), "bias": None}
    with region():
        assert replica(ones()).shape == (2, 3)


def test_a_method_that_stands_in_the_object():
    model = Net()
    model.forward = functools.partial(Net.forward, model)  # as some libraries patch it
    with region():
        assert force_fp32(model)(ones(LOW)).dtype is FLOAT


def test_an_object_that_is_no_module():
    called = half_function(Callable("note"))
    again = pickle.loads(pickle.dumps(called))
    with region():
        assert called(ones()) == again(ones()) == ("note", LOW) and Callable("x")(ones()) == ("x", FLOAT)


def test_an_object_with_slots():
    class Slotted:
        __slots__ = ("note",)

        def __call__(self, x):
            return x.dtype

    with region():
        assert half_function(Slotted())(ones()) is LOW


def test_an_annotated_module_is_compiled():
    model = force_fp32(Net())
    with region():
        assert torch.compile(model, backend="eager", fullgraph=True)(ones(LOW)).dtype is FLOAT
        assert force_fp32(torch.compile(Net(), backend="eager"))(ones(LOW)).dtype is FLOAT


class Rectified(nn.Module):
    def forward(self, x):
        return torch.relu(x)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("made", [torch.jit.script, lambda model: torch.jit.trace(model, ones())])
def test_a_torchscript_module_is_annotated_as_one_object(made, tmp_path):
    with region():
        assert half_function(made(Rectified()))(ones()).dtype is LOW and made(Rectified())(ones()).dtype is FLOAT
        model = force_fp32(made(Rectified()))
        assert model(ones(LOW)).dtype is FLOAT
    torch.jit.save(model, tmp_path / "model.pt")
    with region():
        assert torch.jit.load(tmp_path / "model.pt")(ones(LOW)).dtype is LOW, "TorchScript knows nothing of it"


def test_hooks_run_outside():
    model, seen = force_fp32(Net()), []
    model.register_forward_pre_hook(lambda module, args: seen.append((args[0].dtype, torch.is_autocast_enabled("cpu"))))
    with region():
        model(ones(LOW))
    assert seen == [(LOW, True)]
