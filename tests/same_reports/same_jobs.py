"""The jobs whose runs are compared. Each does the same every time: fixed seeds, one thread, small sizes."""

import dataclasses
import pathlib
import sys

import runs

OWN = pathlib.Path(__file__).resolve().parent / "jobs"
DEEP = ("--deep", "always")


@dataclasses.dataclass(frozen=True)
class Job:
    name: str
    what: str
    script: pathlib.Path
    arguments: tuple = ()
    options: tuple = DEEP  # of castscope run
    large: bool = False  # its answers are too large to be kept

    def command(self):
        return [sys.executable, str(self.script), *self.arguments]

    def environment_options(self):
        """Returns those of the options that `castscope env` has too."""
        pairs = list(zip(self.options[::2], self.options[1::2]))
        return [word for pair in pairs if pair[0] != "--keep" for word in pair]


JOBS = [
    Job("training", "weights cached, frozen weights, steps, a second thread", OWN / "training.py",
        options=(*DEEP, "--keep", "all")),
    Job("scaler", "float16, a GradScaler, an overflow", runs.WORKLOADS / "scaler.py"),
    Job("script", "TorchScript, scripted and traced", runs.WORKLOADS / "scripted.py"),
    Job("compiled", "torch.compile of a whole step, aot_eager", runs.WORKLOADS / "compiled.py", ("aot_eager", "step")),
    Job("exported", "torch.export", OWN / "exported.py"),
    Job("enforced", "an enforced policy, sampled steps", runs.WORKLOADS / "inference.py",
        options=("--enforce", "torch-cpu")),
    Job("processes", "DistributedDataParallel, two ranks over gloo", runs.WORKLOADS / "ddp.py", ("spawn",)),
    Job("errors", "errors of dtypes, and a fork", runs.WORKLOADS / "errors.py"),
    Job("regions", "regions in regions, disabled ones, castscope.amp and annotations", OWN / "regions.py"),
    Job("large", "ten million events", OWN / "many_casts.py", options=("--deep", "never", "--keep", "all"), large=True),
]
