"""Measures the cost of one call of cached_cast on the thread that makes it, as one line of JSON: calls.py [TRIES].

Hits, pass-throughs and casts, at several depths of the Python stack, and the first call at a place never seen before.
The difference between a run under castscope and one without is what castscope adds.
"""

import itertools
import json
import pathlib
import statistics
import sys
import time

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import native

torch.ops.load_library(native.torch_library(pathlib.Path(__file__).with_suffix(".cc")))
OPS = torch.ops.castscope_bench
ONE, THREE, ONCE = (getattr(OPS, name).default._op for name in ("one_argument", "three_arguments", "once"))  # builtins
PACE = OPS.pace.default._op
OTHER = torch.ones(2)
CALLS = 2_000  # 7 batches of them take less than half of the default ring: what is measured is not dropped
PLACES = 300
TRIES = int(sys.argv[1]) if len(sys.argv) > 1 else 60  # at each figure, until the machine is calm
CALM = 1.05  # times the fastest pace seen: more than that, and the core was not ours alone


def depth_here():
    frame, depth = sys._getframe(1), 0
    while frame:
        frame, depth = frame.f_back, depth + 1
    return depth


def at_depth(depth, work):
    """Calls work() so that it runs with `depth` Python frames below and including its own."""
    if depth_here() + 1 < depth:
        return at_depth(depth, work)
    return work()


class Calm:
    """Measures again until the machine went at its full pace before and afterwards."""

    def __init__(self):
        self.fastest = min(PACE() for _ in range(1000))

    def tries(self):
        """Lists, one a try, that take a figure each; `best` is then that of the calmest. (A generator, since a
        function of its own would stand in the Python stack.)"""
        results = []
        for _ in range(TRIES):
            before, figures = PACE(), []
            yield figures
            pace = max(before, PACE())
            self.fastest = min(self.fastest, pace)
            results.append((pace, *figures))
            self.best = min(results)[1]
            if pace <= CALM * self.fastest:
                return
            time.sleep(0.2)


def measured(calm, depth, operator, tensor, calls=CALLS):
    """Returns ns per call, measured after the first calls at the place, which teach castscope, with the ring empty."""
    for figures in itertools.chain([[]], calm.tries()):
        for _ in range(25_000):  # castscope looks at new code until it has met no other for 2,000 operators
            OTHER + OTHER
        time.sleep(0.1)
        figures.append(at_depth(depth, lambda: operator(tensor, calls)))
    return calm.best


def first_sights(depth, tensor):
    """Each place is a code object of its own, called twice: what the first call cost over the second."""
    differences = []
    for number in range(PLACES):
        names = {"once": ONCE, "tensor": tensor}
        exec(compile(f"def work():\n    return once(tensor, {number})", f"place{number}.py", "exec"), names)
        first = at_depth(depth, names["work"])
        second = min(at_depth(depth, names["work"]) for _ in range(3))
        differences.append(first - second)
    return statistics.median(differences)


def main():
    torch.set_num_threads(1)
    calm = Calm()
    for depth in (5, 20, 50):
        assert measured(calm, depth, lambda *_: depth_here() - 1, None) == depth  # - 1: this lambda's own frame
    weight = torch.ones(8, 8, requires_grad=True)
    low = torch.ones(8, 8, dtype=torch.bfloat16)
    plain = torch.ones(8, 8)
    found = {}
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for _ in range(3):  # once through the ring, and past what is learned at the first calls of an operator
            for operator, tensor in ((ONE, weight), (ONE, low), (ONE, plain), (THREE, weight)):
                measured(calm, 5, operator, tensor, CALLS // 3)
        for depth in (5, 20, 50):
            found[f"hit_{depth}"] = measured(calm, depth, ONE, weight)
            found[f"hit3_{depth}"] = measured(calm, depth, THREE, weight, CALLS // 3)
            found[f"pass_{depth}"] = measured(calm, depth, ONE, low)
            found[f"cast_{depth}"] = measured(calm, depth, ONE, plain)
            for figures in calm.tries():
                figures.append(first_sights(depth, weight))
            found[f"first_{depth}"] = calm.best
    found["pace"] = calm.fastest
    print(json.dumps(found))


if __name__ == "__main__":
    main()
