"""A compiled training step: `compiled.py aot_eager` or `compiled.py inductor`, whole step or model only.

Caches between runs are off: a run that finds another's graphs traces less, and the counts would not compare.
"""

import os
import sys
import tempfile

os.environ["TORCHINDUCTOR_FX_GRAPH_CACHE"] = os.environ["TORCHINDUCTOR_AUTOGRAD_CACHE"] = "0"
folder = tempfile.TemporaryDirectory()
os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", folder.name)  # set: generated code is built once for all

import torch  # noqa: E402
import workload  # noqa: E402

workload.start()
backend, what = sys.argv[1], sys.argv[2]
model = workload.small_net()
run = torch.compile(model, backend=backend)


@torch.compile(backend=backend)
def region_inside(batch):
    with workload.bf16():
        return workload.cross_entropy(model, batch)


optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for batch in workload.small_batches(4):
    optimizer.zero_grad()
    if what == "step":
        loss = region_inside(batch)
    else:
        with workload.bf16():
            loss = workload.cross_entropy(run, batch)
    loss.backward()
    optimizer.step()
    workload.say_loss(loss)
    with workload.bf16():  # and eagerly, beside it
        workload.say_loss(workload.cross_entropy(model, batch))
workload.finish(model)
