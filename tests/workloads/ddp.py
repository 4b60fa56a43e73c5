"""DistributedDataParallel over gloo, two ranks: by torchrun (`torchrun … ddp.py`) or by spawn (`ddp.py spawn`)."""

import os
import sys

import torch
import torch.distributed as dist
import workload


def main(rank=None, port=None):
    if rank is not None:
        os.environ.update(RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    workload.start()
    dist.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(workload.small_net())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    for batch in workload.small_batches(5, seed=dist.get_rank()):
        optimizer.zero_grad()
        with workload.bf16():
            loss = workload.cross_entropy(model, batch)
        loss.backward()
        optimizer.step()
        losses.append(loss.item().hex())
    # Losses go through the store, not through gloo: a last collective of Python's tensors now and then hangs PyTorch
    # itself, whose group waits with the GIL held for a thread that needs it.
    store = dist.distributed_c10d._get_default_store()
    store.set(f"losses{dist.get_rank()}", " ".join(losses))
    if dist.get_rank() == 0:
        for rank in range(2):
            print("losses", store.get(f"losses{rank}").decode(), flush=True)
        workload.finish(model)
    # PyTorch tears a gloo group down with the GIL held while it waits for the group's thread, which may need the GIL to
    # let go of its last work: such a process hangs for ever, with and without castscope. This one ends before that.
    sys.stdout.flush()
    os._exit(0)


def free_port():
    import socket
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


if __name__ == "__main__":
    if "spawn" in sys.argv:
        torch.multiprocessing.spawn(main, args=(free_port(),), nprocs=2)
    else:
        main()
