"""Launches tiny kernels, a known number, at a known pace: storm.py KIND SECONDS PER_SECOND [LIBRARY].

graph      replays of a CUDA graph of 1,000 kernels
operators  operators of PyTorch from four threads, as fast as they go
launches   launches of the CUDA runtime, by a library that storm.cu was made into
Prints how many there were, of which kernel (a part of its name), and how long it took, as one line of JSON.
"""

import ctypes
import json
import sys
import threading
import time

import torch

IN_GRAPH = 1_000
# Nothing else in PyTorch uses this kernel, and it is compiled ahead of time.
hardswish, hardsigmoid = torch.ops.aten.hardswish_, torch.ops.aten.hardsigmoid_
LAUNCHES_AT_ONCE = 100


def paced(work, each, seconds, per_second):
    """Calls work(), which launches `each` kernels, in step with the clock; catches up where it fell behind."""
    begin, launched = time.perf_counter(), 0
    while (now := time.perf_counter() - begin) < seconds:
        if launched <= now * per_second:
            work()
            launched += each
    torch.cuda.synchronize()
    return launched, time.perf_counter() - begin


def graph(seconds, per_second):
    x = torch.ones(1, device="cuda")
    with torch.cuda.stream(torch.cuda.Stream()):
        hardswish(x)
    torch.cuda.synchronize()
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        for _ in range(IN_GRAPH):
            hardswish(x)
    launched, took = paced(captured.replay, IN_GRAPH, seconds, per_second)
    return launched + 1, took, "hardswish"


def operators(seconds, _):
    counts = [0] * 4

    def work(number):
        x, count, end = torch.ones(1, device="cuda"), 0, time.perf_counter() + seconds
        with torch.cuda.stream(torch.cuda.Stream()):
            while time.perf_counter() < end:
                for _ in range(100):
                    hardsigmoid(x)
                count += 100
        counts[number] = count

    hardsigmoid(torch.ones(1, device="cuda"))  # castscope begins to time, for which other threads would not wait
    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(counts))]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    torch.cuda.synchronize()
    return sum(counts) + 1, time.perf_counter() - begin, "hardsigmoid"


def launches(seconds, per_second, library):
    torch.ones(1, device="cuda").add_(1)  # with a tensor on the GPU castscope begins to time
    launch = ctypes.CDLL(library).castscope_check_launch

    def work():
        if launch(LAUNCHES_AT_ONCE) != 0:
            raise SystemExit("storm: a launch failed")

    return *paced(work, LAUNCHES_AT_ONCE, seconds, per_second), "castscope_check_kernel"


def main(kind, seconds, per_second, *library):
    # A step of its own, so that castscope has a step to look at.
    with torch.autocast("cuda", torch.bfloat16):
        count, took, kernel = globals()[kind](float(seconds), int(per_second), *library)
    print(json.dumps({"launched": count, "seconds": took, "kernel": kernel}))


if __name__ == "__main__":
    main(*sys.argv[1:])
