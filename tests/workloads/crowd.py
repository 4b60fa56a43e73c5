"""Many threads that cast at the same moment: crowd.py THREADS [wait].

All are inside their region before any casts, and none leaves before all are done: nobody empties the cache under
another, so the counts are the same each time. Each converts its result itself, too. With `wait` the crowd stands still
in the middle until a line, or the end, of standard input.
"""

import os
import sys
import threading

import torch
import workload

workload.start()
count, wait = int(sys.argv[1]), "wait" in sys.argv[2:]
nets = [workload.small_net(width=8, depth=1) for _ in range(count)]
inputs = [batch for batch, _ in workload.small_batches(count, width=8, batch=2)]
losses = [0.0] * count
barrier = threading.Barrier(count)


def half_way():
    if wait:
        print(os.environ.get("CASTSCOPE_RUN", ""), flush=True)
        sys.stdin.readline()


middle = threading.Barrier(count, half_way)


def work(index):
    torch.set_num_threads(1)
    with workload.bf16():
        barrier.wait()
        for number in range(10):
            if number == 5:
                middle.wait()
            losses[index] = nets[index](inputs[index]).to(torch.float64).sum().item()
        barrier.wait()
    barrier.wait()


threads = [threading.Thread(target=work, args=(index,)) for index in range(count)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for loss in losses:
    workload.say_loss(loss)
workload.finish(*nets)
