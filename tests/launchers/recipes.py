"""The recipes of docs/launchers.md: what each is started with, and what castscope has to see of it.

A recipe's command stands in the page, and is known by the name of its run (`-o NAME`).
"""

from __future__ import annotations

import dataclasses
import pathlib
import re
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
JOBS = HERE / "jobs"
ROOT = HERE.parents[1]
PAGE = "docs/launchers.md"
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/documents")]
from blocks import blocks_of  # noqa: E402

# The recipes whose jobs are the same, in one process or in ranks, are counted once, by this command.
COUNTED_BY = {"single": "python train.py", "ranks": "torchrun --nproc-per-node 2 train.py"}


@dataclasses.dataclass(frozen=True)
class Recipe:
    name: str
    counted_by: str = ""            # a key of COUNTED_BY; "" = the recipe's own command, without castscope
    ranks: tuple = (None,)          # of the processes that cast, in order; () = not looked at
    runs: int = 1                   # how many run files there are
    status: int = 0
    prints: bool = True             # the same as the job that it is counted by
    needs: str = ""                 # a program without which it is not run
    by_process: bool = True         # the launcher gives the same work to the same process each time
    complete: bool = True           # it lets all its processes end by themselves
    argument: str = ""              # is put behind the command
    machines: tuple = ()            # of several machines, which are all this one: what differs between them

    @property
    def command(self):
        (block,) = [block for block in blocks_of(PAGE) if re.search(rf" -o {re.escape(self.name)}[ \n]", block.text)]
        command = f"{block.text.rstrip()} {self.argument}\n"
        if not self.machines:
            return command
        each = "".join(f"{{ {settings}\n{command}}} & all=\"$all $!\"\n" for settings in self.machines)
        return f"all=\n{each}for one in $all; do wait $one || exit; done\n"

    def missing(self, path):
        """What is not there; "" = nothing."""
        return f"{self.needs} is not installed" if self.needs and not shutil.which(self.needs, path=path) else ""


TWO = (0, 1)
# They need nothing but what all tests need.
QUICK = [
    Recipe("torchrun", "ranks", TWO),
    Recipe("node-$NODE", "ranks", TWO, runs=2, machines=("NODE=0 HEAD=127.0.0.1", "NODE=1 HEAD=127.0.0.1")),
    Recipe("accelerate", "single"),
    Recipe("methods", ranks=(None,) * 4, status=3),
    Recipe("isolated", "single"),
    Recipe("session", "single", prints=False),
    Recipe("bare", "single"),
]
# scripts/launchers runs these, and installs what they need.
INSTALLED_RECIPES = [
    Recipe("lightning", ranks=(None,)),
    Recipe("deepspeed", "ranks", TWO, prints=False, needs="deepspeed"),
    Recipe("ray", ranks=(), status=5, needs="ray", by_process=False, complete=False),
    Recipe("mpirun", "ranks", TWO, needs="mpirun"),
    Recipe("each", "ranks", TWO, runs=2, needs="mpirun"),
    Recipe("joblib", ranks=(), needs="dask", by_process=False, complete=False),
    Recipe("dask", ranks=(), status=5, needs="dask", by_process=False, complete=False),
    Recipe("uv", "single", needs="uv"),
]
