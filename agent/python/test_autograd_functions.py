"""Annotated torch.autograd.Functions: one dtype in forward and backward, with and without setup_context."""

import pytest
import torch
from casting_verbs import FLOAT, HALF, LOW, autocast_on, ones, region
from castscope import float_function, half_function, never_cast, promote_function


def make_function(seen, setup_context):
    """A Function that notes what its forward and backward get, in one of the two ways to write one."""
    def compute(x, rois):
        seen["forward"] = (x.dtype, rois.dtype, autocast_on())
        return x * 2

    class Pool(torch.autograd.Function):
        @staticmethod
        def backward(ctx, gradient):
            seen["backward"] = (gradient.dtype, [saved.dtype for saved in ctx.saved_tensors], autocast_on())
            return gradient * 2, None

    class PoolInOne(Pool):
        @staticmethod
        def forward(ctx, x, rois):
            ctx.save_for_backward(x, rois)
            return compute(x, rois)

    class PoolWithSetup(Pool):
        @staticmethod
        def forward(x, rois):
            return compute(x, rois)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

    return PoolWithSetup if setup_context else PoolInOne


@pytest.mark.parametrize("setup_context", [False, True])
@pytest.mark.parametrize("annotation, got", [(half_function, LOW), (float_function, FLOAT)])
def test_an_autograd_function_computes_in_one_dtype_forward_and_backward(annotation, got, setup_context):
    seen = {}
    function = annotation(make_function(seen, setup_context))
    x, rois = ones(LOW if got is FLOAT else FLOAT).requires_grad_(), ones(HALF)
    with region():
        y = function.apply(x, rois)
        y.sum().backward()
    assert seen == {"forward": (got, got, False), "backward": (got, [got, got], False)}
    assert y.dtype is got and x.grad.dtype is x.dtype and x.grad[0, 0] == 2


@pytest.mark.parametrize("setup_context", [False, True])
def test_an_argument_of_an_autograd_function_is_never_cast(setup_context):
    seen = {}
    function = never_cast("rois")(half_function(make_function(seen, setup_context)))
    with region():
        function.apply(ones(), ones(FLOAT))
    assert seen["forward"] == (LOW, FLOAT, False)


def test_promote_on_an_autograd_function():
    seen = {}
    function = promote_function(make_function(seen, False))
    with region():
        function.apply(ones(LOW), ones())
    assert seen["forward"] == (FLOAT, FLOAT, True)


def test_a_derived_autograd_function_leaves_its_base_alone():
    seen = {}
    base = make_function(seen, False)
    derived = float_function(type("Derived", (half_function(base),), {}))
    with region():
        derived.apply(ones(LOW), ones(LOW))
        assert seen["forward"][0] is FLOAT
        base.apply(ones(), ones())
        assert seen["forward"][0] is LOW


@pytest.mark.parametrize("setup_context", [False, True])
def test_torch_compile_sees_the_casts_of_an_autograd_function(setup_context):
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.dtypes = (x.dtype, y.dtype)
            return x * y

        @staticmethod
        def backward(ctx, gradient):
            return gradient * (3 if ctx.dtypes == (LOW, LOW) else 5), None

    class ScaleWithSetup(Scale):
        @staticmethod
        def forward(x, y):
            return x * y

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.dtypes = tuple(value.dtype for value in inputs)

    function = half_function(ScaleWithSetup if setup_context else Scale)
    x = ones().requires_grad_()
    with region():
        y = torch.compile(lambda x: function.apply(x, ones()), backend="aot_eager", fullgraph=True)(x)
    y.sum().backward()
    assert y.dtype is LOW and x.grad.dtype is FLOAT and x.grad[0, 0] == 3
