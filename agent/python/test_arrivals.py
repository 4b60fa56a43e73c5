"""The notices that castscope gets of arguments that annotations protect."""

import castscope
import pytest
import torch
from castscope import arrivals

LOW, FULL = torch.bfloat16, torch.float32
NAMES = {5: "float16", 6: "float32", 7: "float64", 15: "bfloat16", 63: None}


@pytest.fixture
def told(monkeypatch):
    """(function, argument, annotation), dtype, kept, held off, cast to: for each notice, in turn."""
    seen = []

    def arrived(text, detail):
        seen.append((tuple(text.decode().split("\t")), NAMES[detail & 255], bool(detail & 256), bool(detail & 512),
                     NAMES[detail >> 10]))

    monkeypatch.setattr(arrivals, "_arrived", arrived)
    return seen


def region():
    return torch.autocast("cpu", dtype=LOW)


def test_rois_are_never_cast(told):
    @castscope.never_cast("rois")
    class Pool(torch.nn.Module):
        def forward(self, x, rois):
            return x * rois.sum()

    with region():
        Pool()(torch.ones(2, dtype=LOW), torch.ones(5))
        Pool()(torch.ones(2), rois=torch.ones(5))
    name = told[0][0][0]
    assert name.endswith("Pool.forward")
    kept = ((name, "rois", "float"), "float32", True, False, None)  # the annotation casts to float32 itself
    assert told == [((name, "x", "float"), "bfloat16", False, False, "float32"), kept,
                    ((name, "x", "float"), "float32", False, False, None), kept]


def test_another_annotation_would_cast_it(told):
    @castscope.half_function
    @castscope.never_cast("rois")
    def pool(x, rois, more=()):
        return x

    with region():
        pool(torch.ones(2), torch.ones(2))
        pool(torch.ones(2), torch.ones(2, dtype=LOW))  # nothing to hold off: the others become this dtype
    assert [one[1:] for one in told if one[0][1] == "rois"] == [
        ("float32", True, True, None), ("bfloat16", True, False, None)]
    assert [one[1:] for one in told if one[0][1] == "x"] == [("float32", False, False, "bfloat16")] * 2


def test_what_runs_in_float32(told):
    head = castscope.force_fp32(torch.nn.Linear(2, 2))
    with region():
        head(torch.ones(1, 2, dtype=LOW))
    assert told == [(("Linear.forward", "input", "float"), "bfloat16", False, False, "float32")]


def test_tensors_in_containers_and_other_dtypes(told):
    castscope_pool = castscope.never_cast("rois")(lambda rois, **more: rois)
    with region():
        castscope_pool([torch.ones(1), {"a": torch.ones(1).double()}, torch.ones(1).int()], scale=2)
    assert [one[1:] for one in told] == [("float32", True, False, None), ("float64", True, False, None)]


def test_what_arrived_in_less_would_have_been_cast_to_float32(told):
    pool = castscope.never_cast("rois")(lambda rois: rois)
    with region():
        pool(torch.ones(1, dtype=LOW))
    assert [one[1:] for one in told] == [("bfloat16", True, True, None)]


def test_nothing_is_told_where_autocast_is_off_or_nothing_is_protected(told):
    plain = castscope.half_function(lambda x: x)
    protected = castscope.never_cast("x")(lambda x: x)
    with region():
        plain(torch.ones(1))
    protected(torch.ones(1))
    with torch.autocast("cpu", enabled=False):
        protected(torch.ones(1))
    assert told == []


def test_a_call_of_an_autograd_function_is_told_once(told):
    @castscope.never_cast("rois")
    class Pool(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, rois):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2, None

    with region():
        Pool.apply(torch.ones(2, requires_grad=True), torch.ones(2)).sum().backward()
    assert [one[0][:2] for one in told] == [("Pool", "x"), ("Pool", "rois")]


def test_compiled_code_tells_nothing_while_it_is_traced(told):
    pool = castscope.never_cast("rois")(lambda x, rois: x + rois)
    with region():
        torch.compile(pool, backend="eager", fullgraph=True)(torch.ones(2), torch.ones(2))
    assert told == []
