"""Does work of one kind over and over, of which callgrind counts some: instructions.py LIBRARY KIND WARM_UP COUNT.

KIND is step (of the tiny transformer of steps.py), hit or pass (a call of cached_cast that autocast's cache serves, or
that casts nothing). LIBRARY is made of instructions.cc, whose one function calls back and has callgrind count
meanwhile. Run by valgrind with --instr-atstart=no, so that what comes before goes at full speed.
"""

import ctypes
import pathlib
import sys

import let_go
import steps
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import native


def repeated_step():
    step = steps.training_step("tiny")

    def work(count):
        for _ in range(count):
            step()
    return work


def repeated_call(tensor):
    torch.ops.load_library(native.torch_library(pathlib.Path(__file__).with_name("calls.cc")))
    call = torch.ops.castscope_bench.one_argument.default._op

    def work(count):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            call(tensor, count)
    return work


KINDS = {"step": repeated_step, "hit": lambda: repeated_call(torch.ones(8, 8, requires_grad=True)),
         "pass": lambda: repeated_call(torch.ones(8, 8, dtype=torch.bfloat16))}


def main(library, kind, warm_up, count):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    work = KINDS[kind]()
    one = torch.ones(2)
    for _ in range(25_000):  # past the operators that castscope records to learn from
        one + one
    work(warm_up)
    let_go.let_go_if_asked(lambda: work(1))
    measured = ctypes.CDLL(library).castscope_bench_measured
    callback = ctypes.CFUNCTYPE(None)
    measured.argtypes, measured.restype = [callback], None
    measured(callback(lambda: work(count)))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
