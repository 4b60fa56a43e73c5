"""A job of several processes: a forked child that ends by os._exit, a subprocess, an exec, a spawned pool."""

import multiprocessing
import os
import subprocess
import sys

import torch
import workload


def some_casts(seed):
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    model = workload.small_net()
    with workload.bf16():
        return [workload.cross_entropy(model, batch).item() for batch in workload.small_batches(2, seed=seed)]


def main():
    if sys.argv[1:] == ["child"]:
        print(some_casts(5), flush=True)
        os.execv(sys.executable, [sys.executable, __file__, "replaced"])
    if sys.argv[1:] == ["replaced"]:
        print(some_casts(6), flush=True)
        return
    workload.start()
    print(some_casts(1), flush=True)
    child = os.fork()
    if child == 0:
        print(some_casts(2), flush=True)
        os._exit(7)
    print("child", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    subprocess.run([sys.executable, __file__, "child"], check=True)
    pool = multiprocessing.get_context("spawn").Pool(1)
    print(pool.map(some_casts, [3, 4]), flush=True)
    pool.close()  # leaving a `with` would kill the worker
    pool.join()
    print(some_casts(8), flush=True)
    os._exit(9)


if __name__ == "__main__":
    main()
