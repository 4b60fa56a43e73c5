"""Part `memory`: what a process keeps of its device beyond PyTorch's own tensors, with castscope and without.

CUPTI lends buffers of each device to the process it is attached to. They stay when nothing is timed any more.
"""

from rows import TOLD, Row

MIB = 1 << 20
VARIANTS = {"plain": None, "castscope, GPU off": ["--gpu", "off"], "castscope, GPU events": ["--gpu", "events"],
            "castscope": [], "castscope, each step": ["--deep", "always"]}


def one_round(runner, workload):
    """Bytes by variant, as job.py tells them."""
    found = {}
    for variant, options in VARIANTS.items():
        name = f"memory-{workload}-{variant.replace(', ', '-').replace(' ', '-')}"
        command = runner.job("memory", workload, "--steps", 50)
        outcome = runner.finish(command, name) if options is None else runner.observed(command, name, *options)
        found[variant] = int(runner.must(outcome, name).stdout.splitlines()[-1])
    return found


def memory(runner, workloads):
    rows, data = [], {}
    for workload in workloads:
        data[workload] = found = one_round(runner, workload)
        told = ", ".join(f"{variant} {(used - found['plain']) / MIB:+.1f}" for variant, used in found.items()
                         if variant != "plain")
        rows.append(Row("memory", f"{workload}: MiB of the device beside PyTorch's, over a plain run's "
                        f"{found['plain'] / MIB:.1f}", told, "", TOLD))
    return rows, data
