"""What gpu-check runs, with castscope and without: one workload in a process of its own. See `job.py --help`.

train      some steps; losses and a checksum of the model on standard output, bit for bit, and nothing else there
measured   the same steps, in a file what each operator and kernel took as torch.profiler (--profiler) tells it
profiled   steps, then steps under the job's own torch.profiler, then steps again; that profiler's kernels in a file
memory     the same steps; on standard output the bytes of the device that are taken and that PyTorch has not reserved
turns      after a warm-up, so many steps for each number on standard input; seconds a step on standard output
"""

import argparse
import contextlib
import ctypes
import hashlib
import json
import math
import pathlib
import sys
import tempfile
import time

import grouping
import torch
from torch.profiler import ProfilerActivity
from workloads import WORKLOADS

BOTH = [ProfilerActivity.CPU, ProfilerActivity.CUDA]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["train", "measured", "profiled", "memory", "turns"])
    parser.add_argument("workload", choices=WORKLOADS)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--small", action="store_true", help="the small size of the workload")
    parser.add_argument("--warm-up", type=int, default=0, help="steps before the first turn")
    parser.add_argument("--profiler", action="store_true", help="torch.profiler runs over all steps, or over each turn")
    parser.add_argument("--out", help="file for what the profiler tells")
    parser.add_argument("--no-cudnn", action="store_true", help="leave cuDNN alone")
    parser.add_argument("--device", default="cuda")
    return parser.parse_args()


def settle(given, deterministic):
    """The same computation in every process: cuDNN does not choose its algorithms by measuring."""
    torch.manual_seed(1)
    torch.backends.cudnn.benchmark = False
    if given.no_cudnn:
        torch.backends.cudnn.enabled = False
        torch.backends.cuda.enable_cudnn_sdp(False)
    if deterministic:
        torch.backends.cudnn.deterministic = True
        torch.use_deterministic_algorithms(True, warn_only=True)


def made(given):
    workload = WORKLOADS[given.workload]
    return workload.make(given.device, **(workload.small if given.small else workload.full))


def synchronize(given):
    if given.device == "cuda":
        torch.cuda.synchronize()


def checksum(model):
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        on_host = tensor.detach().cpu().contiguous()
        digest.update(ctypes.string_at(on_host.data_ptr(), on_host.nbytes))  # bfloat16 and no numpy alike
    return digest.hexdigest()


def train(given):
    settle(given, WORKLOADS[given.workload].can_be_deterministic)
    job = made(given)
    losses = [job.step() for _ in range(given.steps)]
    for loss in torch.stack(losses).tolist():
        print("loss", loss.hex() if math.isfinite(loss) else loss)
    print("model", checksum(job.model))


def measured(given):
    """Times everything that the process makes the device do, as castscope does when each step is timed."""
    settle(given, False)
    torch.empty(1, device=given.device)  # launches nothing; with a tensor on the device castscope begins to time
    observer = torch.profiler.profile(activities=BOTH) if given.profiler else contextlib.nullcontext()
    with observer as seen:
        with torch.device(given.device):  # parameters are made where they are used: no copies but the steps' own
            job = made(given)
        for _ in range(given.steps):
            job.step()
        synchronize(given)
    if given.profiler:
        write(given, seen)


def profiled(given):
    settle(given, False)
    job = made(given)
    for _ in range(3):
        job.step()
    synchronize(given)
    with torch.profiler.profile(activities=BOTH) as seen:
        for _ in range(given.steps):
            job.step()
        synchronize(given)
    for _ in range(3):
        job.step()
    synchronize(given)
    write(given, seen)


def write(given, seen):
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder, "trace.json")
        seen.export_chrome_trace(str(trace))  # a new file: one that was open before stays empty
        found = grouping.of_trace(json.loads(trace.read_text())["traceEvents"])
    with open(given.out, "w") as file:
        json.dump(found, file, indent=1)


def memory(given):
    """The device must have no other user meanwhile."""
    settle(given, False)
    job = made(given)
    for _ in range(given.steps):
        job.step()
    synchronize(given)
    free, total = torch.cuda.mem_get_info()
    print(total - free - torch.cuda.memory_reserved())


def one_turn(given, job, steps):
    """Returns seconds a step. The profiler's work at its start and its end is not counted, nor are two steps before."""
    observer = torch.profiler.profile(activities=BOTH) if given.profiler else contextlib.nullcontext()
    with observer:
        for _ in range(2):
            job.step()
        synchronize(given)
        begin = time.perf_counter()
        for _ in range(steps):
            job.step()
        synchronize(given)
        return (time.perf_counter() - begin) / steps


def turns(given):
    settle(given, False)
    job = made(given)
    for _ in range(given.warm_up):
        job.step()
    one_turn(given, job, 3)  # the profiler's first start takes seconds
    print(json.dumps(one_turn(given, job, 3)), flush=True)
    for line in sys.stdin:
        print(json.dumps(one_turn(given, job, int(line))), flush=True)


if __name__ == "__main__":
    chosen = arguments()
    {"train": train, "measured": measured, "profiled": profiled, "memory": memory, "turns": turns}[chosen.what](chosen)
