"""The jobs whose reports the auditor's questions are asked of, each with its options and its exit status."""

import dataclasses
import pathlib
import sys

import runs

PYTHON = sys.executable
TORCHRUN = [PYTHON, "-m", "torch.distributed.run", "--nnodes", "1", "--nproc-per-node", "2", "--rdzv-backend", "c10d",
            "--rdzv-endpoint", "127.0.0.1:0", "--rdzv-id", "audit", "--local-addr", "127.0.0.1"]

TRAINING = """
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.LayerNorm(32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
net[0].requires_grad_(False)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(6):
    batch = torch.randn(8, 16).double().float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = net(batch).pow(2).mean() + net(batch).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
WITHOUT_AUTOCAST = """
import torch
print(torch.nn.Linear(4, 4)(torch.randn(2, 4)).to(torch.bfloat16).sum().item())
"""
KILLED = TRAINING + """
import os, signal
os.kill(os.getpid(), signal.SIGKILL)
"""
MANY = """
import torch
net = torch.nn.Sequential(*[torch.nn.Linear(2, 2) for _ in range(7500)])
with torch.autocast("cpu", dtype=torch.bfloat16):
    net(torch.randn(2, 2)).sum().backward()
"""

# The same line in eager code and in a script, in regions of two dtypes.
SCRIPT = """
import torch

torch.set_num_threads(1)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(8, 8)

    def forward(self, x):
        return self.fc(x).relu()


net = Net()
scripted = torch.jit.script(net)
for _ in range(4):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        net(torch.ones(4, 8))
    with torch.autocast("cpu", dtype=torch.float16):
        scripted(torch.ones(4, 8))
"""


@dataclasses.dataclass(frozen=True)
class Job:
    script: str = ""      # its text; else `command` is all
    command: tuple = ()   # of the job, or what stands behind the script
    options: tuple = ()   # of castscope run
    status: int = 0

    def words(self, folder):
        if not self.script:
            return list(self.command)
        path = pathlib.Path(folder) / "job.py"
        path.write_text(self.script)
        return [PYTHON, str(path), *self.command]


def workload(name, *arguments, launcher=(PYTHON,)):
    return Job(command=(*launcher, str(runs.WORKLOADS / name), *arguments))


JOBS = {
    "training": Job(TRAINING),
    "bert": workload("bert.py"),
    "script": Job(SCRIPT),
    "trace": workload("script_modes.py", "bert", "trace"),
    "compile": workload("compiled.py", "aot_eager", "step"),
    "loader": workload("loader.py", "fork"),
    "ranks": workload("ddp.py", launcher=TORCHRUN),
    "killed": Job(KILLED, status=-9),
    "without_autocast": Job(WITHOUT_AUTOCAST),
    "without_pytorch": Job(command=("echo", "nothing")),
    "enforced": Job(TRAINING, options=("--enforce", "torch-cpu")),
    "many": Job(MANY),
}


def record(name, folder, output="train", options=()):
    job = JOBS[name]
    folder.mkdir(exist_ok=True)
    command = [str(runs.CASTSCOPE), "run", "--force", "-o", str(folder / output), *job.options, *options, "--",
               *job.words(folder)]
    done = runs.finish(command, runs.clean_environment(), folder)
    assert done.status == job.status, done.stderr.decode(errors="replace")
    return folder / f"{output}.json"
