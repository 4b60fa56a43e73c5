"""Runs steps of the tiny transformer of steps.py, of which callgrind counts some: instructions.py LIBRARY WARM_UP
STEPS.

LIBRARY is made of instructions.cc, whose one function calls back and has callgrind count meanwhile. Run by valgrind
with --instr-atstart=no, so that what comes before goes at full speed.
"""

import ctypes
import sys

import steps
import torch


def main(library, warm_up, count):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    step = steps.training_step("tiny")
    one = torch.ones(2)
    for _ in range(25_000):  # past the operators that castscope records to learn from
        one + one
    for _ in range(warm_up):
        step()
    measured = ctypes.CDLL(library).castscope_bench_measured
    callback = ctypes.CFUNCTYPE(None)

    @callback
    def work():
        for _ in range(count):
            step()

    measured.argtypes, measured.restype = [callback], None
    measured(work)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
