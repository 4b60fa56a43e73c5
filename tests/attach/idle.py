"""A job that imports torch and does not use autocast. idle.py OUTPUT: it ends when the file OUTPUT.stop appears.

It prints "pid PID thread TID": its own number, and that of a second thread.
"""

import os
import pathlib
import sys
import threading
import time

import torch

stop = pathlib.Path(sys.argv[1] + ".stop")


def idle():
    while not stop.exists():
        torch.ones(2).sum()
        time.sleep(0.01)


second = threading.Thread(target=idle)
second.start()
print(f"pid {os.getpid()} thread {second.native_id}", flush=True)
idle()
