"""Reports what the machine has, according to the PyTorch that is checked, and the workloads that fit it, as one line of
JSON."""

import ctypes
import importlib.metadata
import importlib.util
import json
import platform
import re

import torch
from workloads import WORKLOADS


def cupti_version():
    with open("/proc/self/maps") as maps:
        found = re.search(r"/\S*libcupti\.so\S*", maps.read())
    version = ctypes.c_uint32()
    if not found or ctypes.CDLL(found.group()).cuptiGetVersion(ctypes.byref(version)) != 0:
        return None
    return version.value


def known_workloads():
    """`lacks` lists the modules that a workload needs and that are not installed."""
    return {name: {"bound": one.bound, "warm_up": one.warm_up, "by_operator": one.by_operator,
                   "lacks": [module for module in one.needs if importlib.util.find_spec(module) is None]}
            for name, one in WORKLOADS.items()}


def facts():
    found = {"python": platform.python_version(), "torch": torch.__version__, "cuda": torch.version.cuda,
             "cudnn": torch.backends.cudnn.version(), "devices": [], "cupti": cupti_version(),
             "workloads": known_workloads()}
    for name in ("torchvision", "transformers", "triton"):
        found[name] = importlib.metadata.version(name) if importlib.util.find_spec(name) else None
    if torch.cuda.is_available():
        for number in range(torch.cuda.device_count()):
            major, minor = torch.cuda.get_device_capability(number)
            found["devices"].append(f"{torch.cuda.get_device_name(number)}, compute capability {major}.{minor}")
    return found


if __name__ == "__main__":
    print(json.dumps(facts()))
