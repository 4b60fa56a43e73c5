"""Every operator of PyTorch's own lists for testing autocast, CPU's and CUDA's, with bf16, fp16 and no cache."""

import hashlib

import torch
import workload
from torch.testing._internal.autocast_test_lists import AutocastCPUTestLists, AutocastTestLists

workload.start()
torch.use_deterministic_algorithms(True, warn_only=True)


def entries(lists):
    """(name, operator, arguments, keyword arguments) of all lists; a list has other modules' operators too."""
    for list_name, entries_of_list in sorted(vars(lists).items()):
        module = torch._C._nn if list_name.startswith("nn") else torch.linalg if "linalg" in list_name else torch
        for entry in entries_of_list:
            place = torch.Tensor if list_name.startswith("methods") else module
            if hasattr(place, entry[0]):
                options = entry[2] if len(entry) > 2 and isinstance(entry[2], dict) else {}
                yield f"{list_name}.{entry[0]}", getattr(place, entry[0]), entry[1], options


def with_gradients(value):
    if isinstance(value, torch.Tensor):
        return value.detach().clone().requires_grad_() if value.is_floating_point() else value
    if isinstance(value, (tuple, list)):
        return type(value)(with_gradients(part) for part in value)
    return value


def said(result):
    if isinstance(result, torch.Tensor):
        data = result.detach().flatten().clone().view(torch.uint8).numpy().tobytes()
        return f"{result.dtype} {hashlib.sha256(data).hexdigest()[:16]}"
    if isinstance(result, (tuple, list)):
        return " ".join(said(part) for part in result)
    return str(result)


for lists in (AutocastCPUTestLists("cpu"), AutocastTestLists("cpu")):
    for name, operator, arguments, options in entries(lists):
        for region in ({"dtype": torch.bfloat16}, {"dtype": torch.float16},
                       {"dtype": torch.bfloat16, "cache_enabled": False}):
            given = with_gradients(arguments)
            with torch.autocast("cpu", **region):
                for _ in range(2):
                    try:
                        torch.manual_seed(1)  # dropout in cells, if any
                        print(name, said(operator(*given, **options)))
                    except (RuntimeError, TypeError, ValueError) as failure:
                        print(name, type(failure).__name__)
