"""torch.compile: what its graphs compute, what runs between them, and that the user's compiled code is left alone.

Most use backend "eager", with which dynamo captures the same graphs and nothing is compiled.
"""

import pytest
import torch
from castscope.modes import compare, record
from castscope.modes.recording import Options
from torch import nn
from torch.nn import functional as F


def bf16():
    return torch.autocast("cpu", dtype=torch.bfloat16)


def compiled(function, *inputs, **options):
    found = record("compile", function, inputs, Options(**{"backend": "eager", **options}))
    assert found.error is None, found.error.text
    assert found.notes == []
    return found


def computed(recording):
    return [f"{unit.operator} {unit.computed}" for unit in recording.units]


def offsets(recording, function):
    first = function.__code__.co_firstlineno
    return [unit.line.line - first for unit in recording.units]


X = torch.ones(4, 4)


def test_a_graph_has_its_lines_and_dtypes():
    def function(x):
        y = x @ x
        return F.gelu(y)
    with bf16():
        found = compiled(function, X)
    assert computed(found) == ["mm bfloat16", "gelu bfloat16"]
    assert offsets(found, function) == [1, 2]


def test_modules_have_their_paths():
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    assert [unit.module for unit in compiled(net, X).units] == ["0", "1"]


def test_a_region_inside_is_in_the_graph():
    def function(x):
        with bf16():
            y = x @ x
        return y, x @ x
    assert computed(compiled(function, X)) == ["mm bfloat16", "mm float32"]


def test_graphs_and_python_between_come_in_the_order_in_which_they_ran():
    @torch._dynamo.disable
    def between(x):
        return x.sin()

    def function(x):
        y = x.exp()
        y = between(y)
        return y @ y
    with bf16():
        found = compiled(function, X)
    assert computed(found) == ["exp float32", "sin float32", "mm bfloat16"]


def test_a_graph_that_runs_twice_counts_twice():
    @torch._dynamo.disable
    def pause(x):
        return x

    def step(x):
        return x * 2

    def function(x):
        for _ in range(3):
            x = pause(step(x))
        return x
    assert computed(compiled(function, X)) == ["mul float32"] * 3


def test_a_recompiled_function_has_the_dtypes_of_each_run():
    @torch._dynamo.disable
    def pause(x):
        return x

    def step(x):
        return x * 2

    def function(x):
        return pause(step(x)), pause(step(x.to(torch.bfloat16)))
    assert computed(compiled(function, X)) == ["mul float32", "mul bfloat16"]


def test_a_training_step_with_gradients():
    net = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4))
    with bf16():
        found = compare(net, (X,), ("compile",), backend="aot_eager", backward=True)
    assert found.same_precision and not found.not_comparable("compile")
    assert [output.name for output in found.outputs["compile"]][1:] == [
        f"gradient of {name}" for name in ("0.weight", "0.bias", "1.weight", "1.bias")]


def test_inference_mode_in_a_graph():
    """With a dispatch mode on, einsum under inference mode would miss its cast."""
    def function(x):
        with torch.inference_mode():
            return torch.einsum("ij,jk->ik", x @ x, x)
    with bf16():
        assert computed(compiled(function, X)) == ["mm bfloat16", "bmm bfloat16"]


def test_inductor():
    """Inductor draws random numbers of its own, and keeps unrounded what eager rounds between mm and gelu."""
    def function(x):
        return F.gelu(x @ x) + 1, F.dropout(x, 0.5)
    with bf16():
        found = compare(function, (X,), ("compile",))
    assert not found.errors and found.same_precision
    assert found.agreeing("compile") >= 3
    assert "inductor draws random numbers of its own" in " ".join(found.notes["compile"])


def test_shapes_that_depend_on_data():
    def function(x):
        return x[x > 0].exp()
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        assert computed(compiled(function, X)) == ["gt float32", "index float32", "exp float32"]


def test_what_the_user_has_compiled_stays_compiled():
    graphs = []

    def backend(graph, examples):
        graphs.append(graph)
        return graph

    def function(x):
        torch._dynamo.graph_break()
        return x * 2
    users = torch.compile(function, backend=backend)
    users(X)
    before = len(graphs)
    for _ in range(12):  # more times than dynamo compiles one function (recompile_limit, 8)
        assert computed(compiled(function, X)) == ["mul float32"]
    users(X)
    assert len(graphs) == before
    users(X.to(torch.bfloat16))  # and it can still be compiled for more dtypes
    assert len(graphs) > before


def test_comparing_often_stays_compiled():
    def function(x):
        return x * 2
    for _ in range(10):
        assert len(compiled(function, X).units) == 1


@pytest.mark.parametrize("given", [lambda x: x @ x, nn.Linear(4, 4)])
def test_what_comes_compiled_is_compared_as_it_was_before(given):
    with bf16():
        found = compare(torch.compile(given, backend="eager"), (X,), ("trace", "compile"), backend="eager")
    assert not found.errors and found.same_precision
    assert found.agreeing("trace") == found.agreeing("compile") == 1


def test_what_is_compiled_inside_is_eager_in_eager():
    inner = torch.compile(lambda x: F.gelu(x @ x), backend="aot_eager")
    with bf16():
        units = record("eager", lambda x: inner(x) + 1, (X,)).units
    assert [unit.operator for unit in units] == ["mm", "gelu", "add"]


def test_what_is_not_compiled_is_said():
    @torch._dynamo.disable
    def function(x):
        return x * 2
    found = record("compile", function, (X,), Options(backend="eager"))
    assert (computed(found), found.notes) == (["mul float32"], ["nothing was compiled: all of it ran in Python"])


def test_an_error_has_the_users_line():
    def function(x):
        torch._dynamo.graph_break()
        return x
    found = record("compile", function, (X,), Options(backend="eager", fullgraph=True))
    assert found.error.line.line == function.__code__.co_firstlineno + 1
    assert found.error.line.file == __file__


@pytest.mark.parametrize("grad", [torch.no_grad, torch.enable_grad])
def test_the_units_are_eagers(grad):
    net = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0)
    with bf16(), grad():
        found = compare(net, (torch.ones(2, 3, 8),), ("compile",), backend="eager")
    assert not found.differences("compile") and not found.not_comparable("compile")
