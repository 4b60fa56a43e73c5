"""Outermost operators as the profiler sees them: an independent account of what deep steps report.

outermost.py OUTPUT runs the workload operators.py under torch.profiler and writes, as JSON, how often each operator was
called from outside any other, with the dtypes that it was given and those of its own second call, from autocast. The
profiler sees the main thread only, and knows operators without their overloads.
"""

import collections
import json
import pathlib
import sys
import tempfile

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "workloads"))
DTYPES = {"float": "float32", "double": "float64", "c10::Half": "float16", "c10::BFloat16": "bfloat16"}


def trace_of(work):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as profile:
        work()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "trace.json"
        profile.export_chrome_trace(str(path))
        events = json.loads(path.read_text())["traceEvents"]
    return [event for event in events if event.get("cat") == "cpu_op"]


def floating(event):
    """Returns the dtypes of its floating tensors, without those of lists, which the trace does not have."""
    return [DTYPES[word] for word in event["args"].get("Input type", []) if word in DTYPES]


def nested(events):
    """Yields (event, its operators outside, its operators within)."""
    for thread in {event["tid"] for event in events}:
        own = sorted((event for event in events if event["tid"] == thread), key=lambda e: (e["ts"], -e["dur"]))
        stack = []
        for event in own:
            while stack and event["ts"] >= stack[-1]["ts"] + stack[-1]["dur"]:
                stack.pop()
            if event["name"].startswith("aten::"):
                event["outside"] = [outer for outer in stack if outer["name"].startswith("aten::")]
                for outer in event["outside"]:
                    outer.setdefault("within", []).append(event)
            stack.append(event)
        yield from (event for event in own if event["name"].startswith("aten::"))


def account(events):
    counts = collections.Counter()
    for event in nested(events):
        if event["outside"]:
            continue
        within = event.get("within", [])
        if event["name"] == "aten::to" and not any(inner["name"] == "aten::_to_copy" for inner in within):
            continue  # nothing was to be converted
        again = next((inner for inner in within if inner["name"] == event["name"]), None)
        counts[event["name"], tuple(floating(event)), tuple(floating(again)) if again else None] += 1
    return [[*key, count] for key, count in sorted(counts.items(), key=str)]


if __name__ == "__main__":
    import operators

    given = operators.setup()
    events = trace_of(lambda: operators.main(*given))
    pathlib.Path(sys.argv[1]).write_text(json.dumps(account(events)))
