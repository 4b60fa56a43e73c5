"""Runs a command under `castscope run --enforce`, as the conformance tests do it."""

import json
import pathlib

import runs

POLICIES = runs.ROOT / "policies"
DEFAULT = {key: POLICIES / f"torch-{key}.json" for key in ("cpu", "cuda", "xpu", "mps")}
# Way of enforcing → options. A policy is enforced inside PyTorch's own kernels where that will do, or by kernels alone.
WAYS = {"enforce": (), "all-kernels": ("--all-kernels",)}


def under_enforcement(command, folder, policy, *options):
    folder.mkdir()
    return runs.finish([str(runs.CASTSCOPE), "run", "--enforce", str(policy), *options, "-o", str(folder / "run"), "--",
                        *map(str, command)], runs.clean_environment(), folder)


def written(outcome, output):
    """Returns the output of a command that had to succeed."""
    assert outcome.status == 0, outcome.stderr.decode()
    return json.loads(output.read_text())


def deviating(folder, key="cpu"):
    """A policy that differs from the default in one operator: a test that cannot tell it from the default sees
    nothing."""
    policy = pathlib.Path(folder) / "mm-in-float32.json"
    policy.write_text(json.dumps({"extends": f"torch-{key}", "operators": {"fp32": ["mm"]}}))
    return policy
