"""Comparison: causes, followers and reasons on programs whose truth is known, and the forms of the result.

The truths are PyTorch's documented and measured limits of autocast in each mode (PyTorch 2.13).
"""

import json

import pytest
import torch
from castscope import compare
from castscope.modes.comparison import Comparison
from torch.nn import functional as F

X = torch.ones(4, 4)


def bf16():
    return torch.autocast("cpu", dtype=torch.bfloat16)


def compared(function, *modes, inputs=None):
    with bf16():
        found = compare(function, inputs or (X, X), modes)
    assert not found.errors, found
    return found


def verdicts(found, mode):
    return [(row.unit.operator, row.cells[mode].verdict) for row in found.rows if mode in row.cells]


def reasons(found, mode):
    return [row.cells[mode].reason for row in found.differences(mode)]


def gelu_then_more(x, y):
    z = F.gelu(x @ y)
    return (z.relu() @ y).tanh()


GELU = gelu_then_more.__code__.co_firstlineno + 1


@pytest.mark.parametrize("mode", ["script", "trace"])
def test_a_difference_begins_where_the_inputs_agree_and_others_follow(mode):
    found = compared(gelu_then_more, mode)
    assert verdicts(found, mode) == [("mm", "same"), ("gelu", "cause"), ("relu", "follower"), ("mm", "same"),
                                     ("tanh", "same")]
    assert "TorchScript's autocast pass has lists of its own: it casts gelu to float32" in reasons(found, mode)[0]
    (cause,) = found.differences(mode)
    assert [row.unit.operator for row in found.followers(mode, cause)] == ["relu"]


def test_a_follower_belongs_to_its_own_cause():
    def function(x, y):
        a = F.gelu(x @ y).sin()
        b = F.gelu(y @ x).cos()
        return a, b
    found = compared(function, "script")
    assert [[row.unit.operator for row in found.followers("script", cause)]
            for cause in found.differences("script")] == [["sin"], ["cos"]]


@pytest.mark.parametrize("mode", ["script", "trace"])
def test_conservative_promotion_has_its_reason(mode):
    found = compared(lambda x, y: x @ y + x @ y, "trace") if mode == "trace" else compared(adds, mode)
    assert reasons(found, mode) == [
        "TorchScript's autocast pass promotes add to float32 where it cannot rule out that an argument is float32"]


def adds(x, y):
    return x @ y + y @ x


@torch.jit.ignore
def product_in_python(x: torch.Tensor) -> torch.Tensor:
    return x @ x


def calls_python(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return product_in_python(x).relu()


def script_reasons(function, *inputs):
    found = compare(function, inputs, ("script",))
    assert not found.errors, found
    return reasons(found, "script")


REACHES_NO_PYTHON = ("it is called as Python here (code that is not scripted), "
                     "which the region of a script does not reach")


def test_the_region_of_a_script_reaches_no_code_that_is_called_as_python():
    assert script_reasons(calls_python, X) == [REACHES_NO_PYTHON]


CONVOLUTION = torch.nn.Conv2d(3, 4, 3, bias=False)


class CallsModuleAsPython(torch.nn.Module):
    @torch.jit.ignore
    def convolved(self, x: torch.Tensor) -> torch.Tensor:
        return CONVOLUTION(x)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.convolved(x)


def test_nor_a_module_of_pytorchs_own():
    assert script_reasons(CallsModuleAsPython(), torch.ones(1, 3, 8, 8)) == [REACHES_NO_PYTHON]


LINEAR = torch.nn.Linear(4, 4)


def calls_python_with_its_own_cast(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return LINEAR((x @ x).float())


def test_nor_where_the_code_itself_casts_what_it_passes():
    assert script_reasons(calls_python_with_its_own_cast, X) == [REACHES_NO_PYTHON]


def calls_python_without_autocast(x):
    with torch.autocast("cpu", enabled=False):
        return product_in_python(x)


def test_nor_where_the_script_switches_autocast_off():
    found = compared(calls_python_without_autocast, "script", inputs=(X,))
    assert verdicts(found, "script") == [("mm", "cause")]
    assert reasons(found, "script") == [REACHES_NO_PYTHON]


SCRIPTED_BEFORE = torch.jit.trace(lambda x: x @ x, (X,))


def calls_torchscript(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return SCRIPTED_BEFORE(x)


REGION = calls_torchscript.__code__.co_firstlineno + 1


def test_a_trace_has_no_casts_of_torchscript_that_it_calls():
    found = compare(calls_torchscript, (X,), ("trace",))
    assert reasons(found, "trace") == [
        f"the region, {__file__}:{REGION}, is not in the trace, and code that was scripted or traced before is "
        "recorded without the casts that it makes there"]


class Transposed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = torch.nn.ConvTranspose2d(3, 4, 3), torch.nn.Conv2d(4, 3, 3, bias=False)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.down(self.up(x))


def test_an_operator_without_casts_is_called_as_the_graph_calls_it():
    """conv_transpose2d and conv2d both end in convolution, and the pass casts for one of them."""
    assert script_reasons(Transposed(), torch.ones(1, 3, 8, 8)) == [
        "eager's autocast casts its inputs; TorchScript's autocast pass adds no cast to conv_transpose2d"]


def in_one_einsum(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return torch.einsum("ij,jk->ik", x, x)


def test_what_an_operator_is_made_of_is_not_what_the_pass_knows():
    assert script_reasons(in_one_einsum, X) == [
        "eager's autocast casts its inputs; TorchScript's autocast pass adds no cast to einsum"]


def alike(x):
    y = x @ x
    return F.cosine_similarity(y, y)


def test_an_operator_with_casts_is_called_as_the_graph_calls_it():
    found = compared(alike, "script", inputs=(X,))
    assert reasons(found, "script")[0].startswith(
        "TorchScript's autocast pass has lists of its own: it casts cosine_similarity to float32")


class Decorated(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    @torch.autocast("cpu", dtype=torch.bfloat16)
    def forward(self, x):
        return self.linear(x)


def test_a_region_that_is_a_decorator_is_not_in_the_script():
    line = Decorated.forward.__wrapped__.__code__.co_firstlineno
    reason = f"the region is a decorator, {__file__}:{line}, which torch.jit.script drops"
    assert script_reasons(Decorated(), X) == [reason]


def in_one_region(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return x @ x


def test_a_pass_that_is_switched_off_is_said():
    before = torch._C._jit_set_autocast_mode(False)
    try:
        assert script_reasons(in_one_region, X) == [
            "TorchScript's autocast pass is switched off (torch._C._jit_set_autocast_mode(False))"]
        assert not torch._C._jit_set_autocast_mode(False)  # asking changes nothing
    finally:
        torch._C._jit_set_autocast_mode(before)


def off_inside(x, y):
    with torch.autocast("cpu", enabled=False):
        z = x @ y
    return z


OFF = off_inside.__code__.co_firstlineno + 1


@pytest.mark.parametrize("mode, why", [("trace", "a trace does not keep it"),
                                       ("script", "the region around the script stays on inside of it")])
def test_autocast_that_is_off_inside_is_lost_in_torchscript(mode, why):
    found = compared(off_inside, mode)
    (row,) = found.differences(mode)
    assert (row.eager.computed, row.cells[mode].unit.computed) == ("float32", "bfloat16")
    assert reasons(found, mode) == [f"autocast is off here, by {__file__}:{OFF}: {why}"]


def test_export_loses_the_region_around_it():
    found = compared(adds, "export")
    assert verdicts(found, "export") == [("mm", "cause"), ("mm", "cause"), ("add", "follower")]
    assert "is not part of an exported program" in reasons(found, "export")[0]


def test_export_keeps_a_region_inside():
    def function(x, y):
        with bf16():
            return x @ y + 1
    found = compare(function, (X, X), ("export",))
    assert found.same_precision and found.agreeing("export") == 2


def test_without_autocast_all_is_the_same():
    found = compare(gelu_then_more, (X, X), ("script", "trace", "export"))
    assert found.same_precision and found.same_values
    found.assert_same_precision()
    assert "same dtypes in 5 of 5 operators" in repr(found)


def test_operators_without_partner_are_not_comparable_and_no_agreement():
    def function(x, y):
        if torch.compiler.is_exporting():
            return x.exp()
        return x.sin()
    found = compare(function, (X, X), ("export",))
    assert verdicts(found, "export") == [("sin", "alone"), ("exp", "alone")]
    assert not found.same_precision
    assert len(found.not_comparable("export")) == 2
    with pytest.raises(AssertionError, match="no operator could be compared"):
        found.assert_same_precision()


def test_a_path_that_only_one_mode_takes_is_said():
    def function(x, y):
        z = x @ y
        return z.sin() if torch.jit.is_tracing() else z
    found = compared(function, "trace")
    assert verdicts(found, "trace") == [("mm", "same"), ("sin", "alone")]
    assert found.same_precision
    assert "1 not comparable" in repr(found)


def test_common_expressions_that_script_merges_leave_one_without_partner():
    def function(x, y):
        return torch.relu(x @ y) * 2, torch.sigmoid(x @ y)
    found = compare(function, (X, X), ("script",))
    kinds = verdicts(found, "script")
    assert sorted(kinds) in ([("mm", "alone"), ("mm", "same"), ("mul", "same"), ("relu", "same"), ("sigmoid", "same")],
                             [("mm", "same"), ("mm", "same"), ("mul", "same"), ("relu", "same"), ("sigmoid", "same")])
    assert not found.differences("script")


def test_an_output_of_another_dtype_is_a_difference():
    def function(x, y):
        return x.double() if torch.jit.is_tracing() else x
    found = compare(function, (X, X), ("trace",))
    assert not found.same_precision


def test_assert_names_operator_line_and_dtypes_of_each_mode():
    found = compared(gelu_then_more, "script", "export")
    with pytest.raises(AssertionError) as error:
        found.assert_same_precision()
    text = str(error.value)
    assert f"script: gelu at {__file__}:{GELU} computes in float32, in eager bfloat16" in text
    assert f"export: mm at {__file__}:{GELU} computes in float32, in eager bfloat16" in text


def test_assert_of_one_mode_alone():
    found = compared(off_inside, "script", "export")
    found.assert_same_precision(modes=["export"])
    with pytest.raises(AssertionError):
        found.assert_same_precision(modes=["script"])
    with pytest.raises(ValueError, match="not compared: compile"):
        found.assert_same_precision(modes=["compile"])


@pytest.mark.parametrize("ignore", ["gelu", f"test_modes_comparison.py:{GELU}"])
def test_assert_ignores_operators_and_lines(ignore):
    compared(gelu_then_more, "script").assert_same_precision(ignore=[ignore])


def test_a_mode_that_refuses_is_in_the_assertion():
    def function(x, y, *more):
        return x
    with bf16():
        found = compare(function, (X, X), ("script",))
    with pytest.raises(AssertionError, match="script: Compiled functions can't take variable number of arguments"):
        found.assert_same_precision()


def test_json_is_complete():
    found = compared(gelu_then_more, "script")
    (document,) = json.loads(json.dumps(found.to_json()))["comparisons"]
    assert document["ambient_dtypes"] == {"cpu": "bfloat16"}
    assert [mode["mode"] for mode in document["modes"]] == ["eager", "script"]
    gelu = document["operators"][1]
    assert (gelu["shared_operator"], gelu["location"]) == (
        "gelu", {"file": __file__, "line": GELU, "function": "gelu_then_more"})
    assert gelu["by_mode"]["eager"]["input_dtypes"] == ["bfloat16"]
    script = gelu["by_mode"]["script"]
    assert (script["input_dtypes"], script["made_in_dtypes"]) == (["float32"], ["bfloat16"])
    (difference,) = document["modes"][1]["differences"]
    assert (difference["row"], difference["follower_rows"]) == (1, [2])
    assert document["same_precision"] is False


def test_the_text_has_no_colour_unless_it_is_asked_for():
    found = compared(gelu_then_more, "script")
    assert "\x1b" not in repr(found) and "\x1b[31m" in found.text(colour=True)


def test_the_text_shows_what_differs_first():
    text = repr(compared(gelu_then_more, "script"))
    assert f"test_modes_comparison.py:{GELU}: eager bf16, script f32" in text
    assert "1 operator after it differs only because of its output" in text
    assert "gelu" in text and "f32 !" in text and "f32 ~" in text


def test_eager_that_fails_is_said_and_nothing_is_compared():
    def function(x, y):
        raise KeyError("nothing")
    found = compare(function, (X, X), ("trace",))
    assert isinstance(found, Comparison) and not found.same_precision
    assert found.errors["eager"].line.line == function.__code__.co_firstlineno + 1
    assert "eager   failed" in repr(found)


def test_progress_is_told_mode_by_mode():
    seen = []
    compare(torch.nn.ReLU(), (X,), ("export", "trace"), progress=seen.append)
    assert seen == ["eager", "trace", "export"]


def test_unknown_modes_are_refused():
    with pytest.raises(ValueError, match="'jit' is not a mode"):
        compare(torch.nn.ReLU(), (X,), ("jit",))
