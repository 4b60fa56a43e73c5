"""A training loop that is killed after five steps."""

import os
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "workloads"))
import workload

workload.start()
workload.train(workload.small_net(), workload.small_batches(5), workload.cross_entropy)
os.kill(os.getpid(), signal.SIGKILL)
