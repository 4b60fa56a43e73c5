"""inference_mode, no_grad, frozen weights, views as weights, a region without the cache: all that is not cached."""

import torch
import workload

workload.start()
model = workload.small_net()
frozen = workload.small_net().requires_grad_(False)
(inputs, labels), *_ = workload.small_batches(1)
weight = torch.randn(32, 32, requires_grad=True)

with torch.inference_mode(), workload.bf16():
    for _ in range(3):
        workload.say_loss(workload.cross_entropy(model, (inputs, labels)))
with torch.no_grad(), workload.bf16():
    for _ in range(3):
        workload.say_loss(workload.cross_entropy(model, (inputs, labels)))
with workload.bf16():
    for _ in range(3):
        workload.say_loss(workload.cross_entropy(frozen, (inputs, labels)))
        workload.say_loss((inputs @ weight.t()).float().sum())
        workload.say_loss(torch.stack([inputs, inputs.bfloat16()]).sum())
        workload.say_loss(torch.cat([inputs, inputs.bfloat16(), weight]).sum())
with workload.bf16(cache_enabled=False):
    for _ in range(3):
        workload.say_loss(workload.cross_entropy(model, (inputs, labels)))
with workload.bf16():
    with torch.inference_mode():
        model(inputs)
    with torch.no_grad():
        model(inputs)
    workload.say_loss(workload.cross_entropy(model, (inputs, labels)))
    torch.clear_autocast_cache()
    workload.say_loss(workload.cross_entropy(model, (inputs, labels)))
torch.set_autocast_dtype("cpu", torch.bfloat16)
torch.set_autocast_enabled("cpu", True)
for _ in range(2):
    workload.say_loss(workload.cross_entropy(model, (inputs, labels)))
torch.set_autocast_enabled("cpu", False)
workload.finish(model, frozen)
