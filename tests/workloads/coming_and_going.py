"""A thousand threads, eight alive at a time, each of which casts the weights of one net without the cache."""

import threading

import torch
import workload

workload.start()
THREADS, AT_ONCE = 1000, 8
losses = [0.0] * THREADS
inputs = next(iter(workload.small_batches(1, width=8, batch=2)))[0]
net = workload.small_net(width=8, depth=1)
places = threading.Semaphore(AT_ONCE)


def work(index):
    torch.set_num_threads(1)
    with workload.bf16(cache_enabled=False):
        losses[index] = net(inputs + index).sum().item()
    places.release()


threads = []
for index in range(THREADS):
    places.acquire()
    threads.append(threading.Thread(target=work, args=(index,)))
    threads[-1].start()
for thread in threads:
    thread.join()
for loss in losses:
    workload.say_loss(loss)
workload.finish(net)
