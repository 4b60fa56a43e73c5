"""The autocast cache between regions and threads. One function a case. See apart.py."""

import contextlib
import threading
import weakref

import torch
from apart import in_threads, main, region, rows
from torch import nn


def c10():
    model, inner = nn.Linear(32, 32), region()
    with region(cache_enabled=False):
        with inner:  # finds: cache-setting-lost
            model(rows())


def c10_in_a_thread():
    model = nn.Linear(32, 32)

    def work():
        with region():  # finds: cache-setting-lost
            model(rows())

    with region(cache_enabled=False):
        in_threads(work, 1)


def c10n_built_inside():
    model = nn.Linear(32, 32)
    with region(cache_enabled=False):
        with region():
            model(rows())


def c10n_one_after_the_other():
    model, later = nn.Linear(32, 32), region()
    with region(cache_enabled=False):
        model(rows())
    with later:
        model(rows())


def c10n_thread_elsewhere():
    model = nn.Linear(32, 32)

    def work():
        with region():
            model(rows())

    with region(cache_enabled=False):
        pass
    in_threads(work, 1)


def c11():
    model = nn.Linear(32, 32)
    with region():
        model(rows())
        with region(torch.float16), contextlib.suppress(RuntimeError):
            model(rows())  # finds: cache-wrong-dtype


def c11n_one_after_the_other():
    model = nn.Linear(32, 32)
    for dtype in (torch.bfloat16, torch.float16):
        with region(dtype):
            model(rows())
            model(rows())


def c11n_nested_in_the_same_dtype():
    model = nn.Linear(32, 32)
    with region():
        model(rows())
        with region():
            model(rows())


def c11n_float32_inside():
    model = nn.Linear(32, 32)
    with region():
        model(rows())
        with region(enabled=False):
            model(rows())
        model(rows())


def c12():
    torch.set_autocast_enabled("cuda", True)  # as a region does where there is a GPU
    with contextlib.suppress(RuntimeError):
        torch.cuda.make_graphed_callables(nn.Linear(32, 32), (rows(),))  # finds: cache-in-cudagraph


def c12n_cache_off():
    torch.set_autocast_enabled("cuda", True)
    torch.set_autocast_cache_enabled(False)
    with contextlib.suppress(Exception):  # what follows needs a GPU
        torch.cuda.make_graphed_callables(nn.Linear(32, 32), (rows(),))


def x02():
    weight = nn.Parameter(torch.randn(32, 32))
    with region():
        weight @ weight
        with region(torch.float16):
            weight @ weight  # finds: cache-wrong-dtype


def x02n_separate_regions():
    weight = nn.Parameter(torch.randn(32, 32))
    for dtype in (torch.bfloat16, torch.float16):
        with region(dtype):
            weight @ weight


def x03():
    model = nn.Linear(32, 32)
    with region():
        model(rows())
        torch.set_autocast_dtype("cpu", torch.float16)
        with contextlib.suppress(RuntimeError):
            model(rows())  # finds: cache-wrong-dtype


def x03n_before():
    model = nn.Linear(32, 32)
    torch.set_autocast_dtype("cpu", torch.float16)
    with torch.autocast("cpu"):
        model(rows())
        model(rows())


def x04():
    model, go, done = nn.Linear(32, 32), threading.Event(), threading.Event()

    def work():
        go.wait()
        with region():  # finds: cache-cleared-midway
            model(rows())
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    with region():
        model(rows())
        go.set()
        done.wait()
        model(rows())
    thread.join()


def x04n_worker_without_region():
    model = nn.Linear(32, 32)
    with region():
        model(rows())
        in_threads(lambda: torch.randn(4).sum())
        model(rows())


def x04n_one_after_the_other():
    model = nn.Linear(32, 32)

    def work():
        with region():
            model(rows())

    with region():
        model(rows())
    in_threads(work, 1)
    with region():
        model(rows())


def x05():
    model = nn.Linear(32, 32)
    torch.__future__.set_swap_module_params_on_conversion(True)
    with region():
        model(rows())
        with contextlib.suppress(RuntimeError):
            model.to(torch.float64)  # finds: cache-blocks-swap


def x05_swap_tensors():
    one, other = nn.Parameter(torch.randn(32, 32)), nn.Parameter(torch.randn(32, 32))
    with region():
        rows() @ one
        with contextlib.suppress(RuntimeError):
            torch.utils.swap_tensors(one, other)  # finds: cache-blocks-swap


def x05n_before_its_first_use():
    model = nn.Linear(32, 32)
    torch.__future__.set_swap_module_params_on_conversion(True)
    with region():
        model.to(torch.float64).to(torch.float32)
        model(rows())


def x05n_cache_off():
    model = nn.Linear(32, 32)
    torch.__future__.set_swap_module_params_on_conversion(True)
    with region(cache_enabled=False), torch.no_grad():
        model(rows())
        model.to(torch.float64)


def x05n_its_own_weak_reference():
    one, other = nn.Parameter(torch.randn(32, 32)), nn.Parameter(torch.randn(32, 32))
    kept = weakref.ref(other)
    with region():
        rows() @ one
    with contextlib.suppress(RuntimeError):
        torch.utils.swap_tensors(one, other)
    del kept


if __name__ == "__main__":
    main(globals())
