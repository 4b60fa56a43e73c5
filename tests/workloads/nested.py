"""Regions in regions: bf16 in fp16, a disabled one, the same object twice, a decorator, a generator, an exception."""

import torch
import workload

workload.start()
model = workload.small_net()
(inputs, labels), *_ = workload.small_batches(1)


def loss():
    return workload.cross_entropy(model, (inputs, labels))


@torch.autocast("cpu", dtype=torch.float16)
def decorated():
    return loss()


def generated():
    with workload.bf16():
        for _ in range(3):
            yield loss()


for _ in range(2):
    with torch.autocast("cpu", dtype=torch.float16):
        workload.say_loss(loss())
        with workload.bf16():
            try:  # served with the fp16 copies of the weights: the cache does not ask for the dtype
                loss()
            except RuntimeError as failure:
                print("error", failure)
            with torch.autocast("cpu", enabled=False):
                workload.say_loss(loss())
        workload.say_loss(loss())
    region = workload.bf16()
    for _ in range(2):
        with region:
            workload.say_loss(loss())
    workload.say_loss(decorated())
    for value in generated():
        workload.say_loss(value)
    try:
        with workload.bf16():
            loss()
            model(torch.zeros(2, 7))
    except RuntimeError as failure:
        print("error", type(failure).__name__)
    with torch.autocast("cuda", dtype=torch.float16, enabled=False), workload.bf16():
        workload.say_loss(loss())
workload.finish(model)
