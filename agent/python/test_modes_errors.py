"""A mode that refuses a function: the reason in the mode's own words, and the line."""

import inspect
import pathlib

import pytest
import torch
from castscope import compare
from castscope.modes import record
from castscope.modes.stacks import is_users

X = torch.ones(3)


def refused(mode, function, *inputs):
    found = record(mode, function, inputs or (X,))
    assert found.error is not None and not found.outputs
    return found.error


def offset(error, function):
    assert error.line.file == __file__
    return error.line.line - inspect.unwrap(function).__code__.co_firstlineno


def test_script_marks_the_line():
    def function(x):
        y = x + 1
        return y.nothing()
    error = refused("script", function)
    assert (offset(error, function), error.code) == (2, "return y.nothing()")
    assert error.summary == "'Tensor' object has no attribute or method 'nothing'"


def test_script_names_the_helper_that_it_cannot_compile():
    error = refused("script", calls_helper)
    assert offset(error, helper) == 1
    assert "try blocks aren't supported" in error.summary


def helper(x):
    try:
        return x
    finally:
        pass


def calls_helper(x):
    return helper(x)


@torch.autocast("cpu")
def decorated(x):
    return x


def test_an_error_without_a_place_has_the_functions():
    error = refused("script", decorated)
    assert "decorator is not supported in script mode" in error.summary
    assert error.line.file == __file__ and 0 <= offset(error, decorated) <= 1


def test_export_has_the_line_of_a_branch_on_data():
    def function(x):
        if x.sum() > 0:
            return x
        return -x
    error = refused("export", function)
    assert offset(error, function) == 1
    assert "data-dependent" in error.summary and "\n" in error.text


def test_trace_that_meets_an_error_of_the_users():
    def function(x):
        if torch.jit.is_tracing():
            raise RuntimeError("no tracing here")
        return x
    error = refused("trace", function)
    assert (offset(error, function), error.summary) == (2, "no tracing here")


def test_the_summary_is_short_and_the_text_whole():
    def function(x):
        raise ValueError("very " * 500)
    error = refused("eager", function)
    assert len(error.summary) < 260 and error.text.count("very") == 500


def test_the_others_go_on():
    def function(x):
        try:
            return x * 2
        finally:
            pass
    found = compare(function, (X,), ("script", "trace", "export"))
    assert list(found.errors) == ["script"] and found.compared == ("trace", "export")
    text = repr(found)
    assert "script  not available: try blocks aren't supported" in text
    assert f"test_modes_errors.py:{function.__code__.co_firstlineno + 1}   try:" in text
    assert found.to_json()["comparisons"][0]["modes"][1]["error"]["error_text"] == found.errors["script"].text


def test_what_keeps_a_hugging_face_bert_from_being_scripted():
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
                                     intermediate_size=16)
    model = transformers.BertModel(config).eval()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = compare(model, {"input_ids": torch.randint(0, 50, (2, 6))}, ("script", "trace", "export"))
    error = found.errors["script"]
    assert error.summary.startswith("the attribute 'config' of BertModel, which is of class BertConfig")
    assert pathlib.Path(error.line.file).name == "modeling_bert.py" and "config" in error.code
    assert found.compared == ("trace", "export")
    assert not found.not_comparable("trace") and found.differences("export")


class ConvolutionWithBias(torch.nn.Module):
    """TorchScript's autocast pass does not cast the bias."""

    def __init__(self):
        super().__init__()
        self.convolution = torch.nn.Conv2d(1, 1, 1)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.convolution(x)


def test_what_its_interpreter_raises_is_told_with_the_users_line():
    error = refused("script", ConvolutionWithBias(), torch.ones(1, 1, 2, 2))
    assert error.code == "return self.convolution(x)"
    assert error.summary == "RuntimeError: Input type (c10::BFloat16) and bias type (float) should be the same"


def test_the_reason_behind_long_values_is_in_the_summary():
    error = refused("trace", lambda x: {"first": torch.arange(2000.0).reshape(40, 50), "why": str(x.shape)}, X)
    assert "tensor(…)" in error.summary and len(error.summary) <= 250
    assert error.summary.endswith(" ".join(error.text.split())[-40:].rstrip("."))


def test_generated_code_is_nobodys():
    name = "d67sv4oxkk2rrh6bbzxnjhtp3hzpzruudnwjoltk7sumq42ru42"
    assert not is_users(f"/tmp/torchinductor_me/{name[:2]}/c{name}.py")
    assert is_users("/home/me/d6/model.py") and is_users(f"/home/me/project/c{name}.py")


def run_time_enabled(x, use: bool):
    y = x + 1
    with torch.autocast("cpu", enabled=use):
        return y @ y


def named_region(x):
    with torch.autocast("cpu", enabled=False):
        x = x + 1
    with torch.autocast("cpu") as region:
        y = x @ x
        with region:
            return y @ y


def refused_loss(x):
    with torch.autocast("cpu"):
        return torch.nn.functional.binary_cross_entropy(x, x)


@pytest.mark.parametrize("function, inputs, at", [
    (run_time_enabled, (X, True), 2), (named_region, (torch.ones(2, 2),), 3), (refused_loss, (torch.ones(2) / 2,), 2)])
def test_a_refused_region_is_named_by_its_line(function, inputs, at):
    assert offset(refused("script", function, *inputs), function) == at
