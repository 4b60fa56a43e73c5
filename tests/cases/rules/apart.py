"""Runs the cases of a file: functions named by their number in the catalogue of autocast cases.

`# finds: RULE` marks the line that the rule must point at, `# finds: RULE, RULE` where several do; no other line may be
pointed at. A name with an n after the number (c04n_…) is a negative control: nothing may be found in it.

Each case runs in a process of its own (a fork), so that a whole file is one run of many processes.
"""

import os
import re
import sys
import threading

import torch
import torch._dynamo  # optimizers import it when they are made: here, once for all cases

torch.set_num_threads(1)

CASE = re.compile(r"[csx]\d\d")


def region(dtype=torch.bfloat16, **options):
    return torch.autocast("cpu", dtype, **options)


def rows(n=2):
    return torch.randn(n, 32)


def blocks(n=3):
    return torch.nn.ModuleList(torch.nn.Linear(32, 32) for _ in range(n))


def trained(model=None):
    """A model and its optimizer."""
    model = model or torch.nn.Linear(32, 32)
    return model, torch.optim.SGD(model.parameters(), lr=0.1)


def loss_of(y):
    return y.float().pow(2).mean()


def in_threads(work, count=4):
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def run_apart(case):
    child = os.fork()
    if child == 0:
        # After a fork PyTorch makes its pool of threads anew when it is first used. Of two threads that come to it at
        # once, one finds none ("Invalid thread pool!"). So it is used here, before a case starts its threads.
        # caffe2/utils/threadpool/pthreadpool-cpp.cc, https://github.com/pytorch/pytorch/pull/54895
        torch.set_num_threads(1)
        torch.manual_seed(0)
        try:
            case()
        except BaseException as error:  # noqa: BLE001 - the child's only way to tell
            print(f"{case.__name__}: {error!r}", file=sys.stderr)
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main(module):
    """All cases of a module, or those whose names are on the command line."""
    cases = [f for name, f in list(module.items()) if CASE.match(name) and (not sys.argv[1:] or name in sys.argv[1:])]
    sys.exit(any([run_apart(case) for case in cases]))
