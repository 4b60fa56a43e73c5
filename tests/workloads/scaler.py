"""float16, a GradScaler, two optimizers, gradient accumulation, and an overflow that makes it skip a step."""

import torch
import workload

workload.start()
body, head = workload.small_net(classes=32), torch.nn.Linear(32, 5)
optimizers = [torch.optim.AdamW(body.parameters(), lr=1e-3), torch.optim.SGD(head.parameters(), lr=0.05)]
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10, growth_interval=3)

for step, (inputs, labels) in enumerate(workload.small_batches(8)):
    with torch.autocast("cpu", dtype=torch.float16):
        loss = torch.nn.functional.cross_entropy(head(body(inputs)), labels)
    if step == 4:
        loss = loss * float("inf")
    scaler.scale(loss / 2).backward()
    workload.say_loss(loss)
    if step % 2 == 0 and step != 4:
        continue
    for optimizer in optimizers:
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        optimizer.zero_grad()
    scaler.update()
    print("scale", scaler.get_scale())
workload.finish(body, head)
