"""Each mode's operators, with dtype and line, written by hand."""

import inspect

import pytest
import torch
from castscope.modes import Arguments, record
from torch import nn
from torch.nn import functional as F


def bf16(**options):
    return torch.autocast("cpu", dtype=torch.bfloat16, **options)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.norm = nn.LayerNorm(8)

    def forward(self, x):
        x = self.linear(x)
        return self.norm(F.relu(x) * 2)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Block()
        self.second = Block()

    def forward(self, x):
        x = self.first(x)
        return torch.softmax(self.second(x), -1)


BLOCK = inspect.getsourcelines(Block.forward)[1]
NET = inspect.getsourcelines(Net.forward)[1]
LINEAR, NORM, FIRST, SECOND = BLOCK + 1, BLOCK + 2, NET + 1, NET + 2

# Dtypes by policy: linear bf16; relu and mul as it comes; layer_norm and softmax on the CPU as it comes.
IN_REGION = ["addmm bfloat16", "relu bfloat16", "mul bfloat16", "layer_norm bfloat16,float32→bfloat16",
             "addmm bfloat16", "relu bfloat16", "mul bfloat16", "layer_norm bfloat16,float32→bfloat16",
             "softmax bfloat16"]
LINES = [(LINEAR, FIRST), (NORM, FIRST), (NORM, FIRST), (NORM, FIRST),
         (LINEAR, SECOND), (NORM, SECOND), (NORM, SECOND), (NORM, SECOND), (SECOND,)]


def recorded(mode, function, *inputs, **options):
    found = record(mode, function, inputs, **options)
    assert found.error is None, found.error.text
    return found


def computed(recording):
    return [f"{unit.operator} {unit.computed}" for unit in recording.units]


def lines(recording):
    return [tuple(line.line for line in unit.stack) for unit in recording.units]


def modules(recording):
    return [unit.module for unit in recording.units]


MODULES = ["first.linear", "first", "first", "first.norm", "second.linear", "second", "second", "second.norm", ""]


def test_eager():
    with bf16():
        found = recorded("eager", Net(), torch.ones(2, 8))
    assert computed(found) == IN_REGION
    assert lines(found) == LINES
    assert modules(found) == MODULES
    assert {line.file for unit in found.units for line in unit.stack} == {__file__}


def test_eager_with_gradients_and_without_gives_the_same_units():
    with bf16(), torch.no_grad():
        assert computed(recorded("eager", Net(), torch.ones(2, 8))) == IN_REGION


def test_script_promotes_and_casts_by_lists_of_its_own():
    """mul is promoted to float32 (torch/csrc/jit/passes/autocast.cpp), layer_norm is in its list for float32."""
    with bf16():
        found = recorded("script", Net(), torch.ones(2, 8))
    assert computed(found)[:4] == ["addmm bfloat16", "relu bfloat16", "mul float32", "layer_norm float32"]
    assert lines(found) == LINES


def test_trace_has_the_lines_and_modules_of_the_python_that_was_traced():
    with bf16():
        found = recorded("trace", Net(), torch.ones(2, 8))
    assert computed(found)[:4] == ["addmm bfloat16", "relu bfloat16", "mul float32", "layer_norm float32"]
    assert lines(found) == LINES
    assert modules(found) == MODULES


def test_export_loses_the_region_around_it():
    with bf16():
        found = recorded("export", Net(), torch.ones(2, 8))
    assert {unit.computed for unit in found.units} == {"float32"}
    assert lines(found) == LINES
    assert modules(found) == MODULES


class Inside(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = Net()

    def forward(self, x):
        with bf16():
            return self.net(x)


@pytest.mark.parametrize("mode", ["eager", "export"])
def test_a_region_inside_is_kept(mode):
    assert computed(recorded(mode, Inside(), torch.ones(2, 8))) == IN_REGION


def test_repeated_calls_of_one_line_in_a_trace_keep_their_modules():
    class Loop(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return x
    assert modules(recorded("trace", Loop(), torch.ones(2, 3, 4))) == ["layers.0", "layers.1", "layers.2"]


def test_operators_that_are_made_of_others_are_taken_apart():
    def function(x):
        return torch.einsum("ij,jk->ik", x, x)
    with bf16():
        assert computed(recorded("eager", function, torch.ones(4, 4))) == ["bmm bfloat16"]


def test_inference_mode_around_is_recorded_as_without_gradients():
    """A dispatch mode under inference mode would have einsum's bmm run without autocast."""
    def function(x, y):
        return torch.einsum("ij,jk->ik", F.linear(x, y), x)
    with bf16(), torch.inference_mode():
        found = recorded("eager", function, torch.ones(4, 4), torch.ones(4, 4))
    assert computed(found) == ["mm bfloat16", "bmm bfloat16"]
    assert "torch.no_grad()" in found.notes[0]


def test_inference_mode_inside_is_recorded_as_without_gradients():
    @torch.inference_mode()
    def function(x, y):
        return torch.einsum("ij,jk->ik", F.linear(x, y), x)
    with bf16():
        found = recorded("eager", function, torch.ones(4, 4), torch.ones(4, 4))
    assert computed(found) == ["mm bfloat16", "bmm bfloat16"]
    with torch.inference_mode():
        assert torch.is_inference_mode_enabled()


def test_what_arrives_is_told_from_what_is_computed_in():
    def function(x, y):
        return F.linear(x, y).float().exp()
    with bf16():
        linear, exp = recorded("eager", function, torch.ones(4, 4), torch.ones(4, 4)).units
    assert (linear.input_dtypes, linear.arrived, linear.makers) == (("bfloat16",) * 2, ("float32",) * 2, (-1, -1))
    assert (exp.input_dtypes, exp.arrived, exp.makers) == (("float32",), ("bfloat16",), (0,))


def test_a_cast_of_torchscripts_pass_is_known():
    def function(x, y):
        return F.gelu(F.linear(x, y))
    with bf16():
        units = recorded("script", function, torch.ones(4, 4), torch.ones(4, 4)).units
    assert [(unit.computed, unit.caster) for unit in units] == [("bfloat16", "script"), ("float32", "script")]


def test_python_that_a_script_calls_has_its_own_lines():
    @torch.jit.ignore
    def ignored(x: torch.Tensor) -> torch.Tensor:
        return x.sin()

    def function(x):
        return ignored(x) + 1
    sin, add = recorded("script", function, torch.ones(4)).units
    assert (sin.operator, [line.function for line in sin.stack]) == ("sin", ["ignored", "function"])
    assert (add.operator, [line.function for line in add.stack]) == ("add", ["function"])


def test_scalars_alone_are_recorded_by_their_first():
    def function(x):
        return x.sum() * 0.5
    assert computed(recorded("eager", function, torch.ones(4))) == ["sum float32", "mul float32"]


def test_integers_alone_are_no_units():
    def function(x):
        return x + (torch.arange(3) * 2).sum()
    assert computed(recorded("eager", function, torch.ones(3))) == ["add float32"]


def test_what_makes_the_inputs_draws_for_itself():
    class Locked:
        def __deepcopy__(self, memo):
            raise TypeError("cannot copy")
    found = record("eager", lambda x, _: x + 1, lambda: (torch.randn(2), Locked()))
    assert not found.draws


def test_keyword_arguments_and_both():
    def function(x, y, scale=None):
        return x @ y if scale is None else x @ y * scale
    x = torch.ones(3, 3)
    for mode in ("eager", "script", "trace", "export"):
        if mode != "script":
            assert computed(record(mode, function, {"x": x, "y": x})) == ["mm float32"], mode
        assert len(record(mode, torch.nn.Bilinear(3, 3, 2), Arguments((x,), {"input2": x})).outputs) == 1, mode


def test_an_unknown_mode_is_refused():
    with pytest.raises(ValueError, match="eager, script, trace, compile, export"):
        record("onnx", torch.sin, (torch.ones(1),))
