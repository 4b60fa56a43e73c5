"""A job whose operators launch kernels on the double of a GPU: launching.py LIBCUPTI STEPS [PROFILER].

Three kernels of known length in each call of an operator, one outside any operator in each step. With PROFILER, the
library that job_profiler.cc makes, the second half of the steps is profiled by the job itself. Prints what it knows.
"""

import ctypes
import json
import sys

import torch

cupti = ctypes.CDLL(sys.argv[1])
cupti.nogpu_launch.argtypes = [ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint64]
steps = int(sys.argv[2])
profiler = ctypes.CDLL(sys.argv[3]) if len(sys.argv) > 3 else None
STREAM = 7


@torch.library.custom_op("nogpu::work", mutates_args=())
def work(x: torch.Tensor) -> torch.Tensor:
    for ns in (1000, 2000, 3000):
        cupti.nogpu_launch(b"_Z9my_kernelPfi", ns, STREAM)
    return x.clone()


weight = torch.nn.Parameter(torch.randn(8, 8))
optimizer = torch.optim.SGD([weight], lr=0.1)
told = {"calls": 0, "began": None, "profiled": None}
for step in range(steps):
    if profiler is not None and step == steps // 2:
        told["began"] = profiler.profile_begin()
    with torch.autocast("cpu", torch.bfloat16):
        y = torch.nn.functional.linear(torch.randn(4, 8), weight)
        work(y.detach())
    told["calls"] += 1
    cupti.nogpu_launch(b"outside_kernel", 500, STREAM)
    y.float().sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    cupti.nogpu_synchronize()
if profiler is not None:
    told["profiled"] = profiler.profile_end()
print(json.dumps(told))
