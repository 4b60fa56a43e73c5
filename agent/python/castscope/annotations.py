"""Says in which precision a function, a class or an object works where PyTorch's dispatcher cannot see it.

Autocast casts the arguments of operators. Code that calls C++ or CUDA by another way gets whatever dtypes happen to
come; these annotations cast its arguments while autocast is on, and do nothing while it is off:

    half_function      to the lower precision of the region: torch.get_autocast_dtype(device)
    float_function     to float32; the body runs with autocast off
    promote_function   to the widest dtype among them, where they differ
    never_cast         not these

Cast are float32, float16 and bfloat16 tensors on a device whose autocast is on, also in tuples, lists and dicts; never
float64. Gradients flow through the casts. The annotated code's result is returned as it is. The code gets copies of the
cast tensors: if it writes into an argument, name that argument in `never_cast`.

A *class* is annotated in place, in its `forward`, or its `__call__` where it has no `forward`, or its `apply` where it
is a torch.autograd.Function; derive a class to annotate that one alone. An *object* is annotated by itself; it is still
of its class, and its copies and pickles are annotated too. print(model) shows the annotations of modules. Hooks of a
module run outside. A *generator* or *coroutine* function casts its arguments when its body starts; autocast is off only
while the body runs, not while it is suspended.

Annotated code may call annotated code: the innermost annotation decides for its own arguments. Of several annotations
of one thing the last one made counts (an object's over its class's over its base class's), and what they never cast
adds up. torch.compile and torch.jit.trace see the casts; torch.jit.script refuses annotated code.
"""

from __future__ import annotations

from typing import Any, Callable, TypeVar

from castscope import objects, wrapping
from castscope.signatures import missing
from castscope.wrapping import Annotation, annotate

__all__ = ["half_function", "float_function", "promote_function", "force_fp32", "never_cast", "register_half_function",
           "register_float_function", "register_promote_function"]

Target = TypeVar("Target", bound=Callable[..., Any])


def half_function(target: Target) -> Target:
    """Casts the arguments of `target` to the lower precision of the autocast region that it is called in.

    The lower precision is the region's: float16 on CUDA and bfloat16 on the CPU unless it says otherwise. The body runs
    under autocast as before, so that a module's own float32 weights are cast where an operator needs it; in a
    torch.autograd.Function autocast is off. Under castscope.amp a weight that is passed in is cast once per iteration.

        @castscope.half_function
        def fru(input, hidden, weight, bias):
            return FRUBackend(input, hidden, weight, bias)

    Returns a function for a function, else the class or object itself. TypeError for what cannot be called.
    """
    return annotate(target, Annotation("half"))


def float_function(target: Target) -> Target:
    """Casts the arguments of `target` to float32 and runs it with autocast off, so that nothing in it is cast down.

    What a module already holds in lower precision is left so: an operator then meets two dtypes, as without autocast.

        head = castscope.float_function(Head(256))    # one module
        castscope.float_function(Head)                # every one of this class

    Returns a function for a function, else the class or object itself. TypeError for what cannot be called.
    """
    return annotate(target, Annotation("float"))


def promote_function(target: Target) -> Target:
    """Casts the arguments of `target` to the widest dtype among them, where their dtypes differ.

    float32 is wider than both others; float16 with bfloat16 gives float32, which holds both. What is never cast has no
    say in it. The body runs under autocast as before.

        @castscope.promote_function
        def interpolate(low, high, weight):
            return backend.lerp(low, high, weight)

    Returns a function for a function, else the class or object itself. TypeError for what cannot be called.
    """
    return annotate(target, Annotation("promote"))


def force_fp32(target: Target) -> Target:
    """float_function by the name of what it is for: a module, a class of them or a function that needs float32.

    Modules inside work in float32, too, unless they are annotated themselves.

        castscope.force_fp32(model.head)
    """
    return annotate(target, Annotation("float"))


def never_cast(*names: str) -> Callable[[Target], Target]:
    """The arguments of these names keep their dtype, passed by position or by name, in whatever they are nested.

    Alone, it means float_function for the other arguments: the body runs with autocast off, so that nothing in it casts
    the ones that are named either. Above or below another annotation it takes arguments out of that one. Naming the
    parameter `*args` or `**kwargs` means all that it takes.

        @castscope.never_cast("rois")
        class RoIPool(torchvision.ops.RoIPool):
            pass                                      # features in float32, rois as they come

    ValueError where the target has no such argument, with the nearest one that it has, and where its signature cannot
    be read (some functions made in C); TypeError for what is not a name.
    """
    if not names or not all(isinstance(name, str) for name in names):
        raise TypeError("never_cast takes the names of arguments: @never_cast(\"rois\")")
    return lambda target: annotate(target, Annotation(None, names))


def register_half_function(module: Any, name: str) -> None:
    """half_function for `name` in a module, class or object that one cannot edit; it is replaced there.

    `name` is a function, a class or a method. Who has imported it by `from module import name` before this keeps the
    one without; a class is annotated itself, for everyone. It may be called at any time and again, before `amp.init()`
    or after; of different registrations the last one counts.

        castscope.register_half_function(backend, "FRUBackend")

    AttributeError where there is no such name, with the nearest one.
    """
    register(module, name, Annotation("half"))


def register_float_function(module: Any, name: str) -> None:
    """float_function for `name` in a module, class or object that one cannot edit; as register_half_function.

        castscope.register_float_function(torchvision.ops, "roi_pool")
    """
    register(module, name, Annotation("float"))


def register_promote_function(module: Any, name: str) -> None:
    """promote_function for `name` in a module, class or object that one cannot edit; as register_half_function.

        castscope.register_promote_function(backend.Blend, "mix")
    """
    register(module, name, Annotation("promote"))


def register(container: Any, name: str, annotation: Annotation) -> None:
    """Annotates what `container` has under this name, in place."""
    if not hasattr(container, name):
        raise missing(container, name)
    if isinstance(container, type):
        in_class = wrapping.find_in(container, name)
        if isinstance(in_class, type) or in_class is None:
            annotate(getattr(container, name), annotation)
        else:
            wrapping.annotate_method(container, name, annotation)
    elif wrapping.find_in(type(container), name) is not None and objects.can_have_own_class(container):
        objects.annotate_method(container, name, annotation)
    else:
        found = getattr(container, name)
        new = annotate(found, annotation, name)
        if new is not found:
            setattr(container, name, new)
