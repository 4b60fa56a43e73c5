"""What it takes to add a fact, a gauge and a kind of definition, measured: docs/adding.md says which files that are.

A patch beside this file adds a dummy of each. The files that a patch touches are counted, tests and documents apart.
The patches are applied to a copy of the tree, which is built; a job runs under that castscope, and its JSON report must
tell of the dummies. `scripts/check --long` runs this.

Exit status: 0, or 1 where a patch touches more files than it may or a dummy is not in the report.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import commits  # noqa: E402
import runs  # noqa: E402
from reports import read_report  # noqa: E402

MOST_FILES = {"fact": 2, "gauge": 5, "definition": 7}
JOB = """
import torch

model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    with torch.autocast("cpu", torch.bfloat16):
        loss = model(torch.randn(4, 8)).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def files_of(patch):
    done = subprocess.run(["git", "apply", "--numstat", str(patch)], cwd=runs.ROOT, check=True, capture_output=True,
                          text=True)
    names = [line.split("\t")[2] for line in done.stdout.splitlines()]
    return [name for name in names if not name.startswith(("tests/", "docs/")) and "_test." not in name]


def copied_tree(folder):
    """The tree as it is, changes that are not committed included."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=runs.ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, names):
        if (runs.ROOT / name).is_file():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(runs.ROOT / name, target)
    (folder / ".venv").symlink_to(runs.ROOT / ".venv")
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    return folder


def report_of_job(tree, folder):
    (folder / "job.py").write_text(JOB)
    command = [tree / "build" / "castscope", "run", "--deep", "always", "-o", "run", "--", sys.executable, "job.py"]
    done = subprocess.run(command, cwd=folder, check=False, env=runs.clean_environment(), capture_output=True,
                          text=True)
    if done.returncode != 0:
        raise SystemExit(f"the job ended with {done.returncode}:\n{done.stderr}")
    return read_report(folder / "run.json")


def main():
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    failed = False
    for kind, most in MOST_FILES.items():
        files = files_of(HERE / f"{kind}.patch")
        failed |= len(files) > most
        print(f"a {kind}: {len(files)} files (at most {most}): {', '.join(files)}", flush=True)
    with tempfile.TemporaryDirectory(dir=runs.CASTSCOPE.parent) as folder:
        tree = copied_tree(pathlib.Path(folder) / "tree")
        for kind in MOST_FILES:
            subprocess.run(["git", "apply", str(HERE / f"{kind}.patch")], cwd=tree, check=True)
        commits.build_tree(tree, ("castscope_in_job",))
        report = report_of_job(tree, pathlib.Path(folder))
    found = {
        "fact": report["totals"]["facts_by_kind"].get("dummy", 0),
        "gauge": sum(process.get("dummies", 0) for process in report["processes"]),
        "definition": len(report.get("dummies", [])),
    }
    for kind, times in found.items():
        failed |= times == 0
        print(f"the JSON report tells of the {kind}: {times or 'nothing'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
