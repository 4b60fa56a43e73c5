"""A model in training under torch.compile: compile_modes.py MODEL BACKEND [TALLY].

MODEL: resnet, bert. BACKEND: aot_eager, inductor. With TALLY conversions are counted independently of castscope and of
the log that it reads, and the count is written there: of aot_eager by torch.profiler, which sees its operators; of
inductor by the nodes of its graphs, where it hands them to its own passes, times the calls.

Caches between runs are off: a run that finds another's graphs hands none to those passes.
"""

import json
import os
import sys
import tempfile
import warnings

folder = tempfile.TemporaryDirectory()
os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", folder.name)  # set: generated code is built once for all
os.environ["TORCHINDUCTOR_FX_GRAPH_CACHE"] = os.environ["TORCHINDUCTOR_AUTOGRAD_CACHE"] = "0"

import torch  # noqa: E402
import workload  # noqa: E402
from plain_models import bert, resnet  # noqa: E402

warnings.simplefilter("ignore")
workload.start()
STEPS = 3
FLOATS = {torch.float16, torch.bfloat16, torch.float32}


def run(model, inputs):
    for _ in range(STEPS):
        with workload.bf16():
            result = model(inputs)
            loss = (result[0] if isinstance(result, tuple) else result).float().square().mean()
        loss.backward()
        workload.say_loss(loss)


class Nodes:
    """Conversions in the graphs that inductor is given, forward and backward. `autocast`: of the forward graphs, those
    that were conversions before anything was decomposed, and were not put there by a pattern of Inductor's (whose
    nodes are named after the operator's overload)."""

    def __init__(self):
        self.all = self.autocast = 0

    def __call__(self, graph):
        backward = any(node.op == "placeholder" and node.name.startswith("tangents") for node in graph.nodes)
        for node in graph.nodes:
            if node.target in (torch.ops.prims.convert_element_type.default, torch.ops.aten._to_copy.default):
                if {node.meta["val"].dtype, node.args[0].meta["val"].dtype} <= FLOATS:
                    self.all += 1
                    traced = "_to_copy" in str(node.meta.get("original_aten")) and "_default" not in node.name
                    self.autocast += traced and not backward

    def uuid(self):
        return "count"


def profiled(model, inputs):
    """Returns the conversions that aot_eager runs: all of them, and those in forward, which are autocast's."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as profile:
        run(model, inputs)
    count = {"all": 0, "autocast": 0}
    for event in profile.events():
        # Not those within another operator, which bring a number to its tensor's dtype.
        if event.name != "aten::_to_copy" or event.cpu_parent is None or event.cpu_parent.name.startswith("aten::"):
            continue
        above, parent = [], event.cpu_parent
        while parent is not None:
            above.append(parent.name)
            parent = parent.cpu_parent
        if any(name.startswith("Torch-Compiled Region") for name in above):
            count["all"] += 1
            count["autocast"] += 1
        elif any(name == "CompiledFunctionBackward" for name in above):
            count["all"] += 1
    return count


def main(name, backend, tally=None):
    model, inputs = {"bert": bert, "resnet": resnet}[name]()
    compiled = torch.compile(model, backend=backend)
    if tally is None:
        run(compiled, inputs)
        return
    if backend == "inductor":
        import torch._inductor.config as config
        nodes = config.post_grad_custom_post_pass = Nodes()
        run(compiled, inputs)
        count = {"all": nodes.all * STEPS, "autocast": nodes.autocast * STEPS}
    else:
        with workload.bf16():
            compiled(inputs)  # what compiling runs is not counted
        count = profiled(compiled, inputs)
    with open(tally, "w", encoding="utf-8") as file:
        json.dump(count, file)


main(*sys.argv[1:])
