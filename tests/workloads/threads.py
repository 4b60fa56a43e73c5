"""Threads that cast at the same time.

Autocast's cache is one per process, and any thread that leaves its outermost region empties it for all: free threads
would make hits or casts as chance has it. So: first eight free threads without the cache; then eight free threads
that share one net and only raise the flag (no region is left, so nothing is emptied, and each weight is cast once,
by whoever is first); then four threads with regions that take turns, step by step, each inside the others'.
"""

import threading

import torch
import workload

workload.start()


def in_threads(count, work):
    failures = []

    def guarded(index):
        try:
            torch.set_num_threads(1)
            work(index)
        except BaseException as failure:  # noqa: BLE001
            failures.append(failure)

    threads = [threading.Thread(target=guarded, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


nets = [workload.small_net() for _ in range(8)]
losses = [[] for _ in range(8)]


def without_cache(index):
    optimizer = torch.optim.SGD(nets[index].parameters(), lr=0.05)
    for batch in workload.small_batches(6, seed=index):
        optimizer.zero_grad()
        with workload.bf16(cache_enabled=False):
            loss = workload.cross_entropy(nets[index], batch)
        loss.backward()
        optimizer.step()
        losses[index].append(loss.item())


def flag_only(index):
    torch.set_autocast_dtype("cpu", torch.bfloat16)
    torch.set_autocast_enabled("cpu", True)
    for batch in workload.small_batches(20, seed=index):
        with torch.no_grad():
            losses[index].append(workload.cross_entropy(nets[0], batch).item())


turn, condition = [0], threading.Condition()


def in_turn(index):
    batches = list(workload.small_batches(5, seed=index))
    region = workload.bf16()

    def step(number):
        if number == 0:
            region.__enter__()
        losses[index].append(workload.cross_entropy(nets[index % 2], batches[number]).item())
        if number == len(batches) - 1:
            region.__exit__(None, None, None)

    for number in range(len(batches)):
        with condition:
            condition.wait_for(lambda: turn[0] % 4 == index)
            step(number)
            turn[0] += 1
            condition.notify_all()


in_threads(8, without_cache)
in_threads(8, flag_only)
torch.clear_autocast_cache()
in_threads(4, in_turn)
for row in losses:
    for loss in row:
        workload.say_loss(loss)
workload.finish(*nets)
