"""A job whose operators launch kernels on the double of a GPU: launching.py LIBCUPTI STEPS [PROFILER WHEN].

Three kernels of known length in each call of an operator, one outside any operator in each step. With PROFILER, the
library that job_profiler.cc makes, half of the steps are profiled by the job itself: WHEN is `midway`, the second half,
`first`, the first one, or `first-unsubscribed`; `after-storm` is the second half, before which a thread launched
kernels without pause while castscope had CUPTI and let go of it. Prints what it knows.
"""

import ctypes
import json
import sys
import threading

cupti = ctypes.CDLL(sys.argv[1])
cupti.nogpu_launch.argtypes = [ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint64]
steps = int(sys.argv[2])
# Before torch, as torch's own: castscope looks at what is loaded when it is there.
profiler = ctypes.CDLL(sys.argv[3]) if len(sys.argv) > 3 else None
when = sys.argv[4] if len(sys.argv) > 4 else ""
STREAM, STORMS_STREAM = 7, 8

import torch  # noqa: E402


@torch.library.custom_op("nogpu::work", mutates_args=())
def work(x: torch.Tensor) -> torch.Tensor:
    for ns in (1000, 2000, 3000):
        cupti.nogpu_launch(b"_Z9my_kernelPfi", ns, STREAM)
    return x.clone()


weight = torch.nn.Parameter(torch.randn(8, 8))
optimizer = torch.optim.SGD([weight], lr=0.1)
told = {"calls": 0, "began": None, "profiled": None}


def train_a_step():
    with torch.autocast("cpu", torch.bfloat16):
        y = torch.nn.functional.linear(torch.randn(4, 8), weight)
        work(y.detach())
    told["calls"] += 1
    cupti.nogpu_launch(b"outside_kernel", 500, STREAM)
    y.float().sum().backward()
    optimizer.step()
    optimizer.zero_grad()


def storm():
    """Makes steps until CUPTI's seat was taken and left, while a thread launches as fast as it can."""
    over = threading.Event()

    def launch():
        while not over.is_set():
            cupti.nogpu_launch(b"storm_kernel", 100, STORMS_STREAM)

    thread = threading.Thread(target=launch)
    thread.start()
    for wanted in (1, 0):
        while cupti.nogpu_seat_is_taken() != wanted:
            train_a_step()
    over.set()
    thread.join()
    cupti.nogpu_synchronize()


if when == "after-storm":
    storm()
for step in range(steps):
    if profiler is not None and step == (0 if when.startswith("first") else steps // 2):
        told["began"] = profiler.profile_begin(int(when != "first-unsubscribed"))
    if profiler is not None and when.startswith("first") and step == steps // 2:
        told["profiled"] = profiler.profile_end()
    train_a_step()
    cupti.nogpu_synchronize()
if profiler is not None and told["profiled"] is None:
    told["profiled"] = profiler.profile_end()
print(json.dumps(told))
