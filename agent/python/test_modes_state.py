"""compare() leaves nothing behind. It says what a function changes or draws."""

import copy
import random

import numpy
import pytest
import torch
from castscope.modes import Arguments, compare, record
from torch import nn

MODES = ("script", "trace", "export")


def notes(comparison, mode="eager"):
    return " ".join(comparison.notes[mode])


def states():
    return random.getstate(), tuple(numpy.random.get_state()[1]), torch.get_rng_state().tolist()


def test_random_states_are_put_back():
    def function(x):
        random.random(), numpy.random.rand()
        return torch.nn.functional.dropout(x, 0.5)
    before = states()
    compare(function, (torch.ones(64),), MODES)
    assert states() == before


def test_each_mode_draws_the_same_numbers():
    found = compare(nn.Dropout(0.5), (torch.ones(64),), MODES)
    assert not found.errors and found.same_values
    assert "draws random numbers from torch's generator" in notes(found)


def test_a_function_that_draws_nothing_has_no_note():
    assert compare(torch.nn.ReLU(), (torch.ones(3),), ("trace",)).notes == {"eager": [], "trace": []}


def test_a_region_that_is_left_open_is_closed_and_said():
    """Entered again while it is open, an autocast object of PyTorch 2.13 ends with autocast on."""
    def function(x):
        with torch.autocast("cpu", dtype=torch.bfloat16) as region:
            with region:
                return x @ x
    found = compare(function, (torch.ones(3, 3),), ("trace",))
    assert not torch.is_autocast_enabled("cpu") and not found.ambient
    assert "changes autocast's state of cpu (put back)" in notes(found)
    assert torch.autocast_increment_nesting() == 1 and torch.autocast_decrement_nesting() == 0
    with torch.autocast("cpu", dtype=torch.bfloat16, cache_enabled=False):
        assert compare(lambda x: x @ x, (torch.ones(3, 3),), ("trace",)).ambient == {"cpu": "bfloat16"}
        assert torch.is_autocast_enabled("cpu") and not torch.is_autocast_cache_enabled()


def test_running_statistics_are_put_back_and_said():
    model = nn.BatchNorm1d(4)
    before = copy.deepcopy(model.state_dict())
    found = compare(model, (torch.randn(8, 4),), MODES)
    assert all(torch.equal(model.state_dict()[name], value) for name, value in before.items())
    assert "changes running_mean, running_var and 1 more (put back)" in notes(found)


def test_each_mode_begins_with_the_same_buffer():
    class Counts(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(()))

        def forward(self, x):
            self.count += 1
            return x * self.count
    found = compare(Counts(), (torch.ones(3),), MODES)
    assert not found.errors and found.same_values


def test_attributes_mode_and_hooks_are_put_back():
    class Changes(nn.Module):
        def __init__(self):
            super().__init__()
            self.calls, self.seen = 0, []

        def forward(self, x):
            self.calls += 1
            self.seen.append(self.calls)
            self.eval()
            self.new = True
            return x
    model = Changes()
    seen = model.seen
    found = compare(model, (torch.ones(3),), ("trace",))
    assert (model.calls, model.seen, model.training, hasattr(model, "new")) == (0, [], True, False)
    assert model.seen is seen
    assert "changes training, calls (put back)" in notes(found)


def test_gradients_stay_as_they_were():
    model = nn.Linear(3, 3)
    model(torch.ones(1, 3)).sum().backward()
    gradient, value = model.weight.grad, model.weight.grad.clone()
    compare(model, (torch.ones(1, 3),), MODES, backward=True)
    assert model.weight.grad is gradient and torch.equal(gradient, value)


def test_backward_compares_gradients():
    found = compare(nn.Linear(3, 3), (torch.ones(1, 3),), ("script", "export"), backward=True)
    assert [output.name for output in found.outputs["script"]] == [
        "the result", "gradient of weight", "gradient of bias"]
    assert found.same_values


def test_weights_of_a_closure_are_put_back():
    weight = torch.ones(3)

    def function(x):
        weight.add_(1)
        return x * weight
    found = compare(function, (torch.ones(3),), ("trace",))
    assert torch.equal(weight, torch.ones(3))
    assert "changes weight" in notes(found)


def test_an_input_that_is_changed_in_place_is_said():
    x = torch.zeros(3)
    found = compare(lambda x: x.add_(1), (x,), ("trace", "export"))
    assert torch.equal(x, torch.zeros(3))
    assert "changes input 0" in notes(found)
    assert found.same_values


def test_inputs_have_the_names_that_they_are_passed_by():
    def add(values, scale):
        values["a"][1].add_(1)
        scale.mul_(2)
    inputs = Arguments(({"a": [torch.zeros(1), torch.zeros(1)]},), {"scale": torch.ones(1)})
    assert "changes input 0['a'][1], input scale" in notes(compare(add, inputs, modes=("trace",)))


def test_values_that_change_from_call_to_call_are_said():
    calls = []

    def counted(x):
        calls.append(1)
        return x * len(calls)
    found = notes(compare(counted, (torch.ones(2),), modes=("export",)))
    assert "gives other values when it is called again" in found


def test_leaves_stay_leaves():
    x = torch.ones(3, requires_grad=True)
    seen = []

    def function(x):
        seen.append((x.is_leaf, x.requires_grad))
        return x * 2
    record("eager", function, (x,))
    assert seen == [(True, True)]
    assert x.grad is None


def test_one_tensor_given_twice_is_one_tensor():
    x = torch.zeros(3)
    found = record("eager", lambda a, b: (a.add_(1), b)[1], (x, x))
    assert torch.equal(found.outputs["the result"], torch.ones(3))


class NoCopy:
    def __init__(self):
        self.tensor = torch.ones(3)

    def __deepcopy__(self, memo):
        raise TypeError("not me")


def test_inputs_that_cannot_be_copied_are_used_as_they_are():
    found = compare(lambda box: box.tensor * 2, (NoCopy(),), ("export",))
    assert "the inputs cannot be copied (TypeError: not me): every mode was given the same ones" in notes(found)


def test_inputs_that_cannot_be_copied_are_made_anew():
    made = []

    def make():
        made.append(NoCopy())
        return (made[-1],)
    found = compare(lambda box: box.tensor.add_(1), make, ("trace",))
    assert len(made) > 2
    assert "they were made anew for each mode" in notes(found)


@pytest.mark.parametrize("inputs", [(torch.ones(2),), [torch.ones(2)], {"x": torch.ones(2)}, torch.ones(2),
                                    Arguments((torch.ones(2),)), lambda: (torch.ones(2),),
                                    lambda: {"x": torch.ones(2)}])
def test_inputs_come_in_several_ways(inputs):
    def double(x):
        return x * 2
    assert torch.equal(record("eager", double, inputs).outputs["the result"], torch.full((2,), 2.0))


def test_inputs_of_another_kind_are_refused():
    with pytest.raises(TypeError, match="a tuple or list of positional arguments"):
        compare(torch.sin, 3)


def test_the_ambient_region_is_the_callers_afterwards():
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.no_grad():
        compare(torch.nn.Linear(2, 2), (torch.ones(1, 2),), MODES)
        assert torch.is_autocast_enabled("cpu") and not torch.is_grad_enabled()
        assert torch.get_autocast_dtype("cpu") == torch.bfloat16


def test_a_scripted_function_is_compiled_anew_for_another_region():
    """PyTorch keeps the dtype of a scripted function's first region (2.13)."""
    def function(x, y):
        return x @ y
    x = torch.ones(4, 4)
    found = []
    for dtype in (torch.bfloat16, torch.float16):
        with torch.autocast("cpu", dtype=dtype):
            found.append(record("script", function, (x, x)).units[0].computed)
    assert found == ["bfloat16", "float16"]


def test_scripted_modules_of_one_class_are_compiled_anew_for_another_region():
    found = []
    for dtype in (torch.bfloat16, torch.float16):
        with torch.autocast("cpu", dtype=dtype):
            found.append(record("script", nn.Linear(4, 4), (torch.ones(4, 4),)).units[0].computed)
    assert found == ["bfloat16", "float16"]


def test_what_python_keeps_elsewhere_is_said():
    calls = []

    def function(x):
        calls.append(1)
        return x.to(torch.bfloat16).exp() if len(calls) == 1 else x.exp()
    notes = compare(function, (torch.ones(3),), modes=("eager", "trace")).notes["eager"]
    assert any("computes otherwise when it is called again" in note for note in notes)
