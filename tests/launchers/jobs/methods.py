"""A child by each of multiprocessing's start methods, and the parent's own work after them."""

import multiprocessing
import sys

from train import train


def main():
    print(train(0, 1))
    for steps, method in enumerate(["fork", "spawn", "forkserver"], 2):
        context = multiprocessing.get_context(method)
        results = context.SimpleQueue()
        child = context.Process(target=work, args=(steps, results))
        child.start()
        print(method, results.get())
        child.join()
        print(method, "ends with", child.exitcode, flush=True)
    print(train(0, 5), flush=True)
    sys.exit(3)


def work(steps, results):
    results.put(train(steps, steps))
    sys.exit(steps)


if __name__ == "__main__":
    main()
