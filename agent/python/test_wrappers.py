"""An annotated function keeps its looks and methods, and works with bodies that run later, compilers, the package."""

import asyncio
import functools
import inspect
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import castscope
import pytest
import torch
from casting_verbs import FLOAT, LOW, autocast_on, of, region
from castscope import float_function, force_fp32, half_function


@half_function
def half(*args):
    return [arg.dtype for arg in args]


# ---- the function still looks as it did

def test_a_wrapper_looks_like_its_function():
    def attend(query: torch.Tensor, *, scale: float = 1.0) -> torch.Tensor:
        """Attention."""

    annotated = half_function(attend)
    assert (annotated.__name__, annotated.__doc__, annotated.__module__) == ("attend", "Attention.", __name__)
    assert inspect.signature(annotated) == inspect.signature(attend) and annotated.__wrapped__ is attend


def test_the_last_annotation_of_a_function_counts():
    both = float_function(half_function(lambda x: (x.dtype, autocast_on())))
    with region():
        assert both(*of(LOW)) == (FLOAT, False)
    assert half_function(half) is half, "said twice"


def test_a_foreign_decorator_between_two_annotations_stays():
    calls = []

    def counted(function):
        @functools.wraps(function)
        def wrapper(*args):
            calls.append([arg.dtype for arg in args])
            return function(*args)
        return wrapper

    with region():
        assert float_function(counted(half))(*of(LOW)) == [LOW]
    assert calls == [[FLOAT]]


def test_methods_static_methods_and_class_methods():
    class Cell:
        @half_function
        def method(self, x):
            return type(self), x.dtype

        @half_function
        @staticmethod
        def static(x):
            return x.dtype

        @half_function
        @classmethod
        def of_class(cls, x):
            return cls, x.dtype

    x, = of(FLOAT)
    with region():
        assert Cell().method(x) == (Cell, LOW) and Cell.static(x) is LOW and Cell.of_class(x) == (Cell, LOW)
        assert half_function(Cell().method)(x) == (Cell, LOW)


def test_functions_made_in_c():
    with region():
        assert half_function(torch.add)(*of(FLOAT, FLOAT)).dtype is LOW
        assert half_function(torch.ops.aten.add)(*of(FLOAT, FLOAT)).dtype is LOW
        assert half_function(functools.partial(torch.add, alpha=2))(*of(FLOAT, FLOAT)).dtype is LOW


def test_what_cannot_be_called_is_refused():
    with pytest.raises(TypeError, match="a function, a class or an object"):
        half_function(3)


# ---- bodies that run later

def test_a_generator_function_runs_each_piece_of_its_body_alike():
    @float_function
    def pieces(x):
        got = yield x.dtype, autocast_on()
        try:
            yield got, autocast_on()
        except ValueError:
            yield "thrown", autocast_on()
        return "end"

    with region():
        generator = pieces(*of(LOW))
        assert inspect.isgeneratorfunction(pieces)
        assert next(generator) == (FLOAT, False) and autocast_on(), "suspended, it changes nothing"
        assert generator.send("sent") == ("sent", False)
        assert generator.throw(ValueError()) == ("thrown", False)
        with pytest.raises(StopIteration, match="end"):
            next(generator)


def test_a_generator_is_closed_where_it_is():
    closed = []

    @float_function
    def pieces(x):
        try:
            yield x
        finally:
            closed.append(autocast_on())

    with region():
        generator = pieces(*of(LOW))
        next(generator)
        generator.close()
    assert closed == [False]


def test_a_coroutine_function_lets_others_run_as_they_are():
    @float_function
    async def body(x):
        before = autocast_on()
        await asyncio.sleep(0)
        return x.dtype, before, autocast_on()

    async def other():
        await asyncio.sleep(0)
        return autocast_on()

    async def both():
        with region():
            return await asyncio.gather(body(*of(LOW)), other())

    assert inspect.iscoroutinefunction(body)
    # A browser of another test may keep an event loop running in the main thread.
    with ThreadPoolExecutor() as thread:
        assert thread.submit(asyncio.run, both()).result() == [(FLOAT, False, False), True]


def test_an_asynchronous_generator_is_refused():
    async def pieces(x):
        yield x

    with pytest.raises(TypeError, match="asynchronous generator"):
        half_function(pieces)


# ---- compilers

def test_torch_compile_sees_the_casts():
    @half_function
    def inner(a, b):
        return a @ b

    @float_function
    def outer(a, b):
        return a @ b, inner(a, b)

    x = torch.ones(2, 2)
    with region():
        eager = [result.dtype for result in outer(x, x)]
        compiled = [result.dtype for result in torch.compile(outer, backend="eager", fullgraph=True)(x, x)]
    assert compiled == eager == [FLOAT, LOW]


def test_torch_jit_trace_sees_the_casts_and_script_refuses():
    def add(a, b):
        return a + b

    x, = of(FLOAT)
    with region():
        traced = torch.jit.trace(half_function(add), (x, x), check_trace=False)
    assert traced(x, x).dtype is LOW
    with pytest.raises(Exception, match="what castscope annotates is not supported in script mode"):
        torch.jit.script(half_function(add))


@pytest.mark.parametrize("annotated", ["class", "object", "inner"])
def test_torch_jit_script_refuses_annotated_modules(annotated):
    class Plus(torch.nn.Module):
        def forward(self, x: torch.Tensor):
            return x + 1

    module = force_fp32(Plus)() if annotated == "class" else force_fp32(Plus())
    with pytest.raises(RuntimeError, match="Plus: what castscope annotates is not supported in script mode"):
        torch.jit.script(torch.nn.Sequential(module) if annotated == "inner" else module)


# ---- the package

def test_annotating_brings_in_no_torch():
    code = ("import sys, castscope\n"
            "@castscope.never_cast('b')\n@castscope.half_function\ndef f(a, b): return a\n"
            "assert 'torch' not in sys.modules\n"
            "class C:\n    def __call__(self, x): return x\n"
            "castscope.float_function(C); castscope.half_function(C())\n"
            "assert 'torch' not in sys.modules\nassert f(1, 2) == 1")
    done = subprocess.run([sys.executable, "-c", code], cwd=inspect.getfile(castscope)[:-len("castscope/__init__.py")],
                          capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_the_package_offers_is_there():
    for name in castscope.__all__:
        assert callable(getattr(castscope, name)) and name in dir(castscope)
    with pytest.raises(AttributeError, match="half_funktion"):
        castscope.half_funktion  # noqa: B018  asking for it is what is tested
