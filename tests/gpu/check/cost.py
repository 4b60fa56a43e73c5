"""Part `cost`: what a step takes plainly, under castscope, and under torch.profiler.

All variants run at once and take turns of some steps, so that a slow moment of the machine falls on all alike: a figure
is the median over the turns, a ratio the median of the turns' own. Which steps castscope looks at follows the time that
a process has run, and here each waits for the others most of the time: the sampled figure is rather too high.
"""

import json
import statistics
import subprocess

from rows import TOLD, Row, judged
from running import JobFailed, OutOfTime, environment, say

GPU_KEYS = ("gpu_steps", "gpu_records", "gpu_lost", "gpu_unplaced", "gpu_timed_by")
TURN_S = 0.4
FEWEST_TURNS = 4  # fewer are not enough for a figure, where the time is over
GPU_BOUND_FROM = 0.9  # of a step, in which the device computes; a slower CPU makes any workload one of launches
MOST_STEPS = 300  # torch.profiler keeps all of a turn in memory
# The most that castscope may add, relative to the plain step.
GPU_BOUND, SAMPLED_LAUNCH_BOUND, PART_OF_PROFILER = 1.005, 1.03, 0.5

VARIANTS = {  # options of castscope (None: without it), its environment, options of the job
    "plain": (None, {}, []),
    "castscope": ([], {}, []),
    "castscope, each step": (["--deep", "always"], {}, []),
    "castscope, GPU events": (["--gpu", "events"], {}, []),
    "castscope, GPU off": (["--gpu", "off"], {}, []),
    "torch.profiler": (None, {}, ["--profiler"]),
}


class TakesTurns:
    def __init__(self, runner, workload, variant, warm_up):
        options, variables, words = VARIANTS[variant]
        self.name = f"cost-{workload}-{variant.replace(', ', '-').replace(' ', '-')}"
        self.runner, self.ours = runner, options is not None
        command = runner.job("turns", workload, "--warm-up", warm_up, *words)
        if self.ours:
            command = runner.under_castscope(command, self.name, *options)
        folder = runner.place(self.name)
        with open(folder / "stderr.txt", "w") as stderr:
            self.process = subprocess.Popen(command, env=environment(**variables), cwd=folder, text=True, stderr=stderr,
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            said = (self.runner.place(self.name) / "stderr.txt").read_text()[-300:]
            raise JobFailed(f"{self.name} ended with {self.process.wait()}: {said}")
        return json.loads(line)

    def turn(self, steps):
        """ms a step"""
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        return 1000 * self.answer()

    def end(self):
        self.process.stdin.close()
        if self.process.wait(timeout=60) != 0:
            raise JobFailed(f"{self.name} ended with {self.process.returncode}")
        return self.runner.report_of(self.name) if self.ours else None

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def take_turns(runner, workload, warm_up, turns):
    """Returns each variant's ms a step, turn by turn, and castscope's reports."""
    say(f"gpu-check: cost-{workload}")
    jobs = {}
    try:
        for variant in VARIANTS:
            jobs[variant] = TakesTurns(runner, workload, variant, warm_up)
        plain_s = {variant: job.answer() for variant, job in jobs.items()}["plain"]
        steps = max(3, min(MOST_STEPS, round(TURN_S / plain_s)))
        took = {variant: [] for variant in jobs}
        for number in range(turns):
            if runner.left() < 20:
                if number < FEWEST_TURNS:
                    raise OutOfTime
                break
            for variant in list(jobs)[::1 if number % 2 else -1]:
                took[variant].append(jobs[variant].turn(steps))
        return took, {variant: job.end() for variant, job in jobs.items()}
    finally:
        for job in jobs.values():
            job.kill()


def summed_up(times, plain):
    """`quartiles` are those of the turns' ratios: a ratio whose quartiles lie on both sides of 1 says nothing."""
    turns = [mine / other for mine, other in zip(times, plain, strict=True)]
    lower, middle, upper = statistics.quantiles(turns, n=4, method="inclusive")
    return {"ms": statistics.median(times), "ratio": middle, "quartiles": [lower, upper],
            "of_sums": sum(times) / sum(plain)}


def ratios(took):
    return {variant: summed_up(times, took["plain"]) for variant, times in took.items()}


def spread(row):
    return "{:.3f}–{:.3f}".format(*row["quartiles"])


def busy(plain_ms, gpu):
    """The part of a plain step in which the device computes, by the kernels of the steps that castscope timed."""
    return gpu["gpu_ns"] / gpu["gpu_steps"] / 1e6 / plain_ms if gpu and gpu["gpu_steps"] else 0.0


def rows_of(workload, share, found):
    plain, profiler = found["plain"], found["torch.profiler"]
    bound = "GPU" if share >= GPU_BOUND_FROM else "launch"
    rows = [Row("cost", f"{workload} ({bound}-bound): plain",
                f"{plain['ms']:.3f} ms a step, the device at work in {100 * share:.0f} % of it")]
    # A timed step may add half of what torch.profiler adds to a step that is bound by launches.
    deep = 1 + PART_OF_PROFILER * max(0.0, profiler["ratio"] - 1)
    most = {"castscope": GPU_BOUND if bound == "GPU" else SAMPLED_LAUNCH_BOUND,
            "castscope, each step": GPU_BOUND if bound == "GPU" else deep}
    for variant, row in found.items():
        what = f"{workload} ({bound}-bound): {variant}"
        if variant in most:
            rows.append(judged("cost", what, row["ratio"], most[variant]))
            rows[-1].measured += f" ({spread(row)}; {row['ms']:.3f} ms; of sums {row['of_sums']:.3f})"
        elif variant != "plain":
            rows.append(Row("cost", what, f"{row['ratio']:.3f} ({spread(row)}; {row['ms']:.3f} ms)", "", TOLD))
    return rows


def cost(runner, workloads):
    rows, data = [], {}
    for workload, about in workloads.items():
        took, reports = take_turns(runner, workload, about["warm_up"], 4 * runner.rounds)
        found = ratios(took)
        share = busy(found["plain"]["ms"], reports["castscope, each step"]["gpus"])
        rows += rows_of(workload, share, found)
        kept = {}
        for variant, report in reports.items():
            if report is not None:
                gpu = report["gpus"] or {}
                kept[variant] = {key: gpu.get(key) for key in GPU_KEYS}
        data[workload] = {"turns_ms": took, "summed_up": found, "gpu": kept}
    return rows, data
